"""`python -m skillopt_cli`: the same program as the console script."""

from skillopt_cli.cli.main import main

if __name__ == "__main__":
    main()
