from __future__ import annotations

from pathlib import Path

from skillopt_cli.executors.mounts import needed_by


def placed(path: Path, text: str = "\x7fELF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_single_file_brings_itself_only(tmp_path: Path) -> None:
    program = placed(tmp_path / "home" / "agent")
    assert needed_by(program, "") == {program}


def test_a_folder_bin_brings_its_neighbours_but_not_the_home_around_them(tmp_path: Path) -> None:
    program = placed(tmp_path / "bin" / "agent")
    library = placed(tmp_path / "lib" / "words").parent
    placed(tmp_path / ".ssh" / "id")
    placed(tmp_path / "share" / "keyrings" / "key")
    assert needed_by(program, "") == {program, program.parent, library}


def test_a_package_comes_whole(tmp_path: Path) -> None:
    package = tmp_path / "venv" / "lib" / "python3.11" / "site-packages" / "agent_cli"
    program = placed(package / "deep" / "bin" / "agent")
    assert needed_by(program, "") == {program, package}


def test_links_are_followed_to_the_packages_of_node(tmp_path: Path) -> None:
    node = placed(tmp_path / "node" / "bin" / "node")
    modules = tmp_path / "node" / "lib" / "node_modules"
    script = placed(modules / "@x" / "agent" / "bin" / "agent.js", "#!/usr/bin/env -S node\n")
    link = tmp_path / "tools" / "agent"
    link.parent.mkdir()
    link.symlink_to(script)
    found = needed_by(link, str(node.parent))
    assert {link, script, modules, node, node.parent} <= found
    assert link.parent not in found


def test_a_ring_of_scripts_ends(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    placed(one, f"#!{two}\n")
    placed(two, f"#!{one}\n")
    assert needed_by(one, "") == {one, two}


def test_a_missing_interpreter_is_not_ours_to_find(tmp_path: Path) -> None:
    program = placed(tmp_path / "agent", "#!/usr/bin/env no-such-interpreter\n")
    assert needed_by(program, "") == {program}
    assert needed_by(placed(tmp_path / "odd", "#!\n"), "") == {tmp_path / "odd"}
