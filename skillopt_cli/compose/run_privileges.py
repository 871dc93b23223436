"""Privileges of a run: programs it starts, keys it sends and to whom, and which file asks for it.

Derived from the layered settings alone; nothing is opened or started. What needs the user's consent
is decided here, and asked for in `compose.trust`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt_cli.compose.endpoints import backend_name, effective, setting_key
from skillopt_cli.compose.privilege import Privilege
from skillopt_cli.compose.secrets import names_a_key
from skillopt_cli.compose.usual_hosts import address_shown, host_of, is_usual, key_variables
from skillopt_cli.config.connection import connection_to, is_here
from skillopt_cli.config.environment import file_of
from skillopt_cli.config.layers import ENVIRONMENT, Resolved
from skillopt_cli.config.run_section import LOCAL_CLUSTER, RAY_ADDRESS, ray_address
from skillopt_cli.config.section import in_home, is_address
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import load_backend, load_benchmark, load_tracker
from skillopt_cli.ports import BackendSpec, ProgramSource

Origin = tuple[str, Path | None]
"""A setting or a variable, and the file that gives its value; None where the user does."""
_IDENTITIES = {"azure_cli": "the token of `az login`", "managed_identity": "the machine's token"}


def run_privileges(
    resolved: Resolved,
    environment: Mapping[str, str],
    roles: Sequence[Role],
    *,
    calls: bool = True,
) -> tuple[Privilege, ...]:
    """What a run of these settings does beyond its own process, in the order of the roles.

    Args:
        roles: whose models are asked; none where nothing but code of the tasks is run.
        calls: False for a replay, which calls no model.
    """
    run = _Settings(resolved, environment)
    config = resolved.config
    players = {role: load_backend(backend_name(config, role)) for role in roles}
    found = [
        replace(program, isolation=run.isolated(spec))
        for spec in players.values()
        for program in run.programs(spec)
    ]
    for role, spec in players.items() if calls else ():
        found += run.model(role, spec)
    found += [*run.services(), *run.trackers(), *run.cluster()] if roles else []
    found += run.shared_cache() if roles and calls else []
    found += run.isolation(run.started(players.values()))
    return tuple(dict.fromkeys(found))


def programs_started(
    resolved: Resolved, environment: Mapping[str, str], roles: Sequence[Role]
) -> list[str]:
    """What programs a run of these settings starts, such as `claude` and `code of swebench`.

    Raises:
        ConfigError: a backend or the benchmark does not exist.
    """
    run = _Settings(resolved, environment)
    return run.started(load_backend(backend_name(resolved.config, role)) for role in roles)


@dataclass(frozen=True, slots=True)
class _Settings:
    """The layered settings of a run."""

    resolved: Resolved
    environment: Mapping[str, str]

    def origin(self, key: str) -> Origin:
        source = self.resolved.sources.get(key, key)
        named = source.removeprefix(f"{ENVIRONMENT} ")
        return key if named == source else named, self.resolved.files.get(key)

    def programs(self, spec: BackendSpec) -> Iterator[Privilege]:
        """The program of a backend, if it is one."""
        source = spec.program
        if source is None:
            return
        words = self._configured(spec, source)
        if words:
            yield Privilege("program", _command(words), "", *self.origin(source.setting))
            return
        variable = next((name for name in source.variables if self.environment.get(name)), "")
        if variable:
            command = _command([self.environment[variable].strip()])
            file = file_of(self.environment, variable)
            yield Privilege("program", command, "", variable, file)
        elif source.command:
            yield Privilege("program", source.command, usual=True)

    def isolated(self, spec: BackendSpec) -> str:
        """How the programs of a backend are isolated; "" on a cluster, whose nodes decide it.

        With `namespace` a run does not start on a machine that cannot isolate them.
        """
        match self.resolved.config.run.executor:
            case "ray":
                return ""
            case "namespace":
                network = "" if spec.networked else " but its model"
                return f"isolated: namespace, no network{network}"
            case "auto" if not spec.networked:
                return "isolated where this machine allows it"
        return "not isolated: can read your files"

    def started(self, players: Iterable[BackendSpec]) -> list[str]:
        """The programs of backends, each once, and the code of tasks."""
        found = []
        for spec in players:
            known = [program.what for program in self.programs(spec)]
            found += known or [f"programs of {spec.name}"] * spec.runs_programs
        benchmark = self.resolved.config.env.name
        if benchmark and load_benchmark(benchmark).runs_programs:
            found.append(f"code of {benchmark}")
        return list(dict.fromkeys(found))

    def model(self, role: Role, spec: BackendSpec) -> Iterator[Privilege]:
        """Who gets the key of a role's model."""
        if spec.open is None or spec.free:
            return
        config = self.resolved.config
        variable = str(effective(config, role, "api_key_env") or "")
        named = self.origin(setting_key(self.resolved, role, "api_key_env"))
        if spec.program and spec.networked:
            yield from self._given_to_program(spec, spec.program, variable, named)
            return
        options = {name: effective(config, role, name) for name in spec.honours}
        if "auth_mode" in spec.honours:
            mode = str(options["auth_mode"] or "azure_cli")
            variable = _IDENTITIES.get(mode, variable)
        url = str(effective(config, role, "base_url") or "")
        addressed = self.origin(setting_key(self.resolved, role, "base_url"))
        url = url or spec.address(options)
        of_project = file_of(self.environment, variable) is not None
        usual = is_usual(url, variable, spec, of_project=of_project)
        yield from self._endpoint(variable, url, (addressed, named), usual=usual)

    def services(self) -> Iterator[Privilege]:
        """The services that the benchmark asks."""
        env = self.resolved.config.env
        spec = load_benchmark(env.name) if env.name else None
        if spec is None or spec.options is None or not spec.services:
            return
        options = spec.options.model_validate(dict(env.options))
        for service in spec.services:
            url = str(getattr(options, service.address))
            if url and all(getattr(options, name) == value for name, value in service.when.items()):
                named = self.origin(f"env.{service.key}")
                yield from self._endpoint(
                    str(getattr(options, service.key)),
                    url,
                    (self.origin(f"env.{service.address}"), named),
                    usual=named[1] is None and is_here(host_of(url)),
                )

    def trackers(self) -> Iterator[Privilege]:
        """The servers of trackers, each with the keys under its tracker's names."""
        for name in self.resolved.config.run.trackers:
            spec = load_tracker(name)
            own = {n: v for n, v in self.environment.items() if n.startswith(spec.variables)}
            server = spec.server(own)
            urls = {server.variable: server.url} if server else {}
            urls |= {n: v for n, v in own.items() if "://" in v and file_of(self.environment, n)}
            for variable, url in urls.items():
                begun = variable.partition("_")[0]
                keys = [n for n in own if names_a_key(n) and n.partition("_")[0] == begun] or [""]
                origin = (variable, file_of(self.environment, variable))
                for key in keys:
                    of_project = not key or file_of(self.environment, key) is not None
                    usual = variable not in own or (is_here(host_of(url)) and of_project)
                    yield from self._endpoint(key, url, (origin,), usual=usual)

    def cluster(self) -> Iterator[Privilege]:
        """The cluster on which attempts are made; none for one that the run starts itself."""
        run = self.resolved.config.run
        if run.executor != "ray":
            return
        variable = (RAY_ADDRESS, file_of(self.environment, RAY_ADDRESS))
        origin = self.origin("run.ray.address") if run.ray.address else variable
        address = ray_address(run.ray, self.environment)
        if address != LOCAL_CLUSTER:
            yield Privilege("cluster", address, "", *origin)

    def shared_cache(self) -> Iterator[Privilege]:
        """The object store of the shared cache, which is opened with the user's credentials."""
        place = self.resolved.config.run.cache_dir
        if is_address(place):
            credentials = f"your credentials for {place.partition('://')[0]}"
            yield Privilege("endpoint", credentials, place, *self.origin("run.cache_dir"))

    def isolation(self, started: Sequence[str]) -> Iterator[Privilege]:
        """What weakens the isolation of the programs that are started."""
        run = self.resolved.config.run
        for program in started:
            for key, value in (
                ("run.executor", run.executor),
                ("run.ray.isolation", run.ray.isolation if run.executor == "ray" else ""),
            ):
                if value == "local":
                    yield Privilege("isolation", "", program, *self.origin(key))
            if run.readable:
                yield Privilege("isolation", run.readable, program, *self.origin("run.readable"))

    def _configured(self, spec: BackendSpec, source: ProgramSource) -> list[str]:
        section = self.resolved.config.model.section(spec.name)
        value = getattr(section, source.setting.rpartition(".")[2], "")
        return list(value) if isinstance(value, tuple) else [value] if value else []

    def _given_to_program(
        self, spec: BackendSpec, source: ProgramSource, variable: str, named: Origin
    ) -> Iterator[Privilege]:
        """The variables that a program with its own model gets."""
        program = next(self.programs(spec), None)
        if program is None:
            return
        name = program.what
        if variable:
            usual = program.usual and variable in key_variables(spec)
            yield Privilege("endpoint", variable, name, *named, usual)
        section = self.resolved.config.model.section(spec.name)
        if source.gets:
            for given in getattr(section, source.gets.rpartition(".")[2]):
                yield Privilege("endpoint", given, name, *self.origin(source.gets))

    def _endpoint(
        self,
        variable: str,
        url: str,
        origins: Sequence[Origin],
        *,
        usual: bool,
    ) -> Iterator[Privilege]:
        """The privilege to call an address with a key; none for a call without one, and no file.

        Args:
            origins: of the address and of the key, what asks for it first.
        """
        if not url and not variable:
            return
        to, on_the_way = address_shown(url), self._on_the_way(url)
        for setting, path, words in on_the_way:
            yield Privilege("endpoint", variable, f"{to} {words}", setting, path)
        setting, file = next((o for o in origins if o[1] is not None), ("", None))
        if (variable or file) and not on_the_way:
            yield Privilege("endpoint", variable, to, setting, file, usual)

    def _on_the_way(self, url: str) -> list[tuple[str, Path, str]]:
        """Proxy and certificates that `.env` names, which may let others read the key."""
        try:
            way = connection_to(url, self.environment)
        except ConfigError:
            return []  # the call itself reports it
        trusted = self.environment.get(way.certificates_from, "")
        words = {
            way.proxy_from: f"through {address_shown(way.proxy)}",
            way.certificates_from: f"with the certificates of {Path(trusted).absolute()}",
        }
        files = {variable: file_of(self.environment, variable) for variable in words}
        return [(variable, file, words[variable]) for variable, file in files.items() if file]


def _command(words: Sequence[str]) -> str:
    """A program with its arguments; a relative path is made absolute, a bare name stays."""
    first = in_home(words[0])
    return shlex.join([str(Path(first).absolute()) if "/" in first else first, *words[1:]])
