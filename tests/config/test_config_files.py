"""Configuration files: inheritance, what is wrong with a file, presets, shipped defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_cli.config import files
from skillopt_cli.config.declarations import every_setting
from skillopt_cli.config.files import (
    benchmark_layers,
    file_layers,
    preset_layers,
    preset_names,
    shipped,
)
from skillopt_cli.config.layers import (
    ROLES,
    Layer,
    Tier,
    assignment_layers,
    flatten,
    resolve,
    typed,
)
from skillopt_cli.config.model_section import Endpoint
from skillopt_cli.config.scalars import Written, read_yaml
from skillopt_cli.core.errors import ConfigError


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_chain_of_bases_is_merged_from_its_root_by_paths_beside_each_file() -> None:
    write("a/root.yaml", "train: {batch_size: 1, seed: 1, num_epochs: 1}\n")
    write("a/middle.yaml", "_base_: root.yaml\ntrain: {seed: 2, num_epochs: 2}\n")
    top = write("top.yaml", "_base_: a/middle.yaml\ntrain: {num_epochs: 3}\n")
    found = resolve(file_layers(top))
    train = found.config.train
    assert (train.batch_size, train.seed, train.num_epochs) == (1, 2, 3)
    assert found.sources["train.batch_size"] == "root.yaml"
    assert found.sources["train.num_epochs"] == "top.yaml"


def test_an_absolute_base_works(tmp_path: Path) -> None:
    root = write("root.yaml", "train: {seed: 5}\n").resolve()
    top = write("elsewhere/top.yaml", f"_base_: {root}\n")
    assert resolve(file_layers(top)).config.train.seed == 5


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "train:\n"])
def test_an_empty_file_says_nothing(text: str) -> None:
    assert resolve(file_layers(write("c.yaml", text))).sources == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("_base_: c.yaml\n", ("circle", "c.yaml -> c.yaml")),
        ("_base_: gone.yaml\n", ("gone.yaml", "does not exist")),
        ("_base_: [a, b]\n", ("`_base_`", "one file")),
        ("train:\n  seed: 1\n bad\n", ("c.yaml, line 3",)),
        ("train:\n\tseed: 1\n", ("c.yaml, line 2",)),
        ("train: {seed: 1}\ntrain: {seed: 2}\n", ("line 2", "`train` occurs twice")),
        ("train: {seed: 1, seed: 2}\n", ("`seed` occurs twice",)),
        ("- a\n- b\n", ("no mapping",)),
        ("just text\n", ("no mapping",)),
        ("train: 4\n", ("section `train`", "not a mapping")),
        ("model: gpt-5\n", ("section `model`", "not a mapping")),
        ("batch_size: 4\n", ("`batch_size` is not a section", "train.batch_size")),
        ("trian: {seed: 1}\n", ("`trian` is not a section", "mean `train`?", "config import")),
        ("zzz: {seed: 1}\n", ("`zzz` is not a section", "sections are model, ")),
        ("epochs: 4\n", ("`epochs` is not a section", "mean `train.num_epochs`?")),
        ("train: {seed: \x01}\n", ("c.yaml", "characters")),
    ],
)
def test_a_faulty_file_is_named_with_its_fault(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(file_layers(write("c.yaml", text)))
    said = f"{caught.value.message} {caught.value.hint}"
    for word in words:
        assert word in said, said


def test_a_longer_circle_is_shown() -> None:
    write("b.yaml", "_base_: a.yaml\n")
    with pytest.raises(ConfigError, match=r"a\.yaml -> b\.yaml -> a\.yaml"):
        file_layers(write("a.yaml", "_base_: b.yaml\n"))


def test_bytes_that_are_no_text_and_a_folder_are_refused() -> None:
    Path("c.yaml").write_bytes(b"train: \xff\xfe\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        file_layers(Path("c.yaml"))
    Path("d").mkdir()
    with pytest.raises(ConfigError, match="cannot read"):
        file_layers(Path("d"))


def test_a_byte_order_mark_is_ignored() -> None:
    Path("c.yaml").write_text("train: {seed: 3}\n", encoding="utf-8-sig")
    assert resolve(file_layers(Path("c.yaml"))).config.train.seed == 3


def test_a_value_that_is_wrong_in_a_file_is_not_quoted() -> None:
    path = write("c.yaml", "model: {api_key: sk-canary-123456}\n")
    with pytest.raises(ConfigError) as caught:
        resolve(file_layers(path))
    assert "canary" not in f"{caught.value.message} {caught.value.hint}"
    assert "c.yaml" in caught.value.message


def test_every_shipped_file_resolves() -> None:
    paths = sorted(shipped().rglob("*.yaml"))
    assert len(paths) >= 7
    for path in paths:
        resolve(file_layers(path))


def test_the_documented_presets_exist_and_resolve() -> None:
    assert {"default", "quick", "paper", "demo", "tiny"} <= set(preset_names())
    for name in preset_names():
        found = resolve(preset_layers(name))
        own = {f"preset {name}"} | ({"preset default"} if name == "quick" else set())
        assert set(found.sources.values()) <= own


def test_quick_is_default_with_two_epochs() -> None:
    quick, default = (resolve(preset_layers(name)).config for name in ("quick", "default"))
    assert quick.train.num_epochs == 2
    assert quick.model_copy(update={"train": default.train}) == default


def test_paper_undoes_everything_that_default_sets() -> None:
    published = resolve([*preset_layers("default"), *preset_layers("paper")])
    # Where both agree, what is set first stays the source.
    undone = {key for key, source in published.sources.items() if source == "preset paper"}
    of_verify = {"optimizer.verify_tasks", "optimizer.verify_share"}
    assert undone | of_verify >= resolve(preset_layers("default")).sources.keys()
    assert published.config == resolve(preset_layers("paper")).config


def test_a_benchmarks_own_file_wins_over_default_and_other_presets_over_it() -> None:
    own = Layer("own", {"optimizer": {"verify": "joint"}}, tier=Tier.BENCHMARK)
    found = {
        name: resolve([own, *preset_layers(name)]).config.optimizer.verify
        for name in ("default", "quick", "paper")
    }
    assert found == {"default": "joint", "quick": "joint", "paper": "off"}


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        preset_layers("tinny")
    assert "`tinny`" in caught.value.message
    assert "tiny" in caught.value.hint


def test_the_shipped_base_file_holds_every_documented_key_with_its_default() -> None:
    path = shipped() / "_base_" / "default.yaml"
    written = {
        key: typed(key, value) if isinstance(value, Written) else value
        for key, value in flatten(read_yaml(path.read_text(encoding="utf-8")))
    }
    own_forms = {f"model.{role}.{name}" for role in ROLES for name in Endpoint.model_fields}
    unset = {"": None, (): None}
    expected = {
        key: unset.get(found.info.default, found.info.default)
        for key, found in every_setting().items()
        if key not in own_forms
    }
    assert written == expected
    assert resolve(file_layers(path)).sources == {}


def test_the_file_of_the_first_experiment_shows_its_eight_settings() -> None:
    path = shipped() / "searchqa" / "default.yaml"
    shown = dict(flatten(read_yaml(path.read_text(encoding="utf-8"))))
    assert {
        "train.num_epochs": "4",
        "train.batch_size": "40",
        "optimizer.learning_rate": "16",
        "optimizer.lr_scheduler": "constant",
        "optimizer.use_slow_update": "false",
        "optimizer.use_meta_skill": "false",
        "gradient.analyst_workers": "16",
        "evaluation.use_gate": "true",
    }.items() <= shown.items()
    # What the published experiment has there.
    text = path.read_text(encoding="utf-8")
    for value in ("4", "cosine", "true"):
        assert f"published: {value})" in text
    published = resolve([*file_layers(path), *preset_layers("paper")]).config.optimizer
    assert (published.learning_rate, published.lr_scheduler) == (4, "cosine")
    assert published.use_slow_update
    assert published.use_meta_skill


def test_a_benchmark_without_shipped_defaults_has_no_layer() -> None:
    assert benchmark_layers("nothing-of-the-kind") == []
    assert benchmark_layers("") == []
    assert resolve(benchmark_layers("searchqa")).config.env.name == "searchqa"


def test_what_belongs_to_the_program_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def layers() -> list[Layer]:
        return [*benchmark_layers("searchqa"), *preset_layers("tiny")]

    first = layers()
    monkeypatch.setattr(files, "read_yaml", None)
    assert layers() == first
    assert resolve(first).config == resolve(layers()).config


def test_verify_may_be_off_without_quotes(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("optimizer:\n  verify: off\n", encoding="utf-8")
    assert resolve(file_layers(path)).config.optimizer.verify == "off"
    assert resolve(assignment_layers(["optimizer.verify=off"])).config.optimizer.verify == "off"
