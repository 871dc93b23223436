"""Prices: the user's own to the cent, the table's as its package has them, else unknown."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from genai_prices import Usage as Counted
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.backends.prices import known, price_of
from skillopt_cli.config.model_section import PriceConfig
from skillopt_cli.core.task import Usage

MODEL = "gpt-5-mini"
OWN = PriceConfig(model="m", input=3.0, output=15.0, cached_input=0.3)


def asked(usage: Usage, **where: Any) -> float | None:
    known_as: dict[str, Any] = {"provider": "", "base_url": "", "model": "m", "overrides": ()}
    return price_of(usage, **(known_as | where))


def tabled(prompt: int, completion: int, cached: int = 0, **where: str) -> float:
    usage = Counted(input_tokens=prompt, output_tokens=completion, cache_read_tokens=cached)
    return float(calc_price(usage, MODEL, **where).total_price)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(1, 1_000_000, 0), 3.0),
        (Usage(1, 0, 1_000_000), 15.0),
        (Usage(1, 1000, 100), 0.0045),
        (Usage(1, 1000, 100, cached_tokens=1000), 0.0018),
        (Usage(1, 1000, 100, cached_tokens=400), 0.00342),
        (Usage(1, 1000, 100, reasoning_tokens=90), 0.0045),
        (Usage(1, 0, 0), 0.0),
        (Usage(1, 1000, 100, cached_tokens=5000), 0.0018),
    ],
)
def test_an_own_price_is_exact(usage: Usage, usd: float) -> None:
    assert asked(usage, overrides=(OWN,)) == usd


def test_cached_tokens_cost_as_much_as_others_unless_said() -> None:
    plain = PriceConfig(model="m", input=3.0, output=15.0)
    assert asked(Usage(1, 1000, 0, cached_tokens=1000), overrides=(plain,)) == 0.003


@pytest.mark.parametrize(
    ("stored", "usd"), [(400, 0.00183), (0, 0.00138), (None, 0.00138), (10**6, 0.00183)]
)
def test_tokens_written_into_a_cache_have_an_own_price(stored: int | None, usd: float) -> None:
    own = PriceConfig(model="m", input=3.0, output=15.0, cached_input=0.3, cache_write=4.125)
    usage = Usage(1, 1000, 0, 600, None, stored)
    assert asked(usage, overrides=(own,)) == usd


def test_what_is_written_into_a_cache_costs_what_the_table_says() -> None:
    model = "claude-sonnet-4-6"
    told = Counted(input_tokens=9000, cache_read_tokens=1000, cache_write_tokens=6000)
    wanted = float(calc_price(told, model, provider_id="anthropic").total_price)
    stored = asked(Usage(1, 9000, 0, 1000, None, 6000), provider="anthropic", model=model)
    assert stored == wanted
    plain = asked(Usage(1, 9000, 0, 1000), provider="anthropic", model=model)
    assert plain is not None and stored is not None and plain < stored
    # More than was read cannot have been written.
    too_many = asked(Usage(1, 9000, 0, 1000, None, 10**6), provider="anthropic", model=model)
    assert too_many == asked(Usage(1, 9000, 0, 1000, None, 8000), provider="anthropic", model=model)


def test_an_own_price_wins_over_the_table_and_counts_for_its_model_only() -> None:
    own = PriceConfig(model=MODEL, input=1.0, output=1.0)
    usage = Usage(1, 500_000, 500_000)
    assert asked(usage, provider="openai", model=MODEL, overrides=(OWN, own)) == 1.0
    dated = asked(usage, provider="openai", model=f"{MODEL}-2025-08-07", overrides=(own,))
    assert dated == tabled(500_000, 500_000, provider_id="openai") != 1.0
    assert asked(usage, model="M", overrides=(OWN,)) is None


@pytest.mark.parametrize("tokens", [(1000, 200, 0), (1000, 200, 900), (0, 0, 0), (999_999, 1, 1)])
@pytest.mark.parametrize(
    ("provider", "base_url", "table"),
    [
        ("openai", "", {"provider_id": "openai"}),
        ("azure", "", {"provider_id": "azure"}),
        ("", "https://api.openai.com/v1", {"provider_id": "openai"}),
        ("", "https://API.OpenAI.com:443/v1/", {"provider_id": "openai"}),
        ("openai", "https://mine.openai.azure.com/", {"provider_id": "azure"}),
        ("azure", "https://mine.services.ai.azure.com/openai/v1/", {"provider_id": "azure"}),
    ],
)
def test_the_table_s_price_is_the_package_s(
    tokens: tuple[int, int, int], provider: str, base_url: str, table: dict[str, str]
) -> None:
    prompt, completion, cached = tokens
    found = asked(
        Usage(1, prompt, completion, cached), provider=provider, base_url=base_url, model=MODEL
    )
    assert found == tabled(prompt, completion, cached, **table)


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-sonnet-4-5"), ("minimax", "MiniMax-M2"), ("openai", MODEL)],
)
def test_every_provider_we_name_is_in_the_table(provider: str, model: str) -> None:
    cold = asked(Usage(1, 1000, 10), provider=provider, model=model)
    warm = asked(Usage(1, 1000, 10, cached_tokens=1000), provider=provider, model=model)
    assert cold is not None and warm is not None
    assert 0 < warm < cold


@pytest.mark.parametrize(
    ("provider", "base_url", "model"),
    [
        ("", "", MODEL),
        ("", "http://127.0.0.1:8000/v1", MODEL),
        ("", "http://[::1]:8000/v1", MODEL),
        ("", "http://localhost:11434/v1", MODEL),
        ("", "http://10.1.2.3/v1", MODEL),
        ("", "http://gpu-box:8000/v1", MODEL),
        ("", "http://gpu.internal:8000/v1", MODEL),
        ("", "https://proxy.example.com/v1", MODEL),
        ("openai", "https://proxy.example.com/v1", MODEL),
        ("anthropic", "http://127.0.0.1:8000", "claude-sonnet-4-5"),
        ("openai", "http://[broken", MODEL),
        ("openai", "", "a-model-of-tomorrow"),
        ("openai", "", f"ft:{MODEL}:mine::1"),
        ("azure", "https://mine.openai.azure.com/", "my-deployment"),
        ("nobody", "", MODEL),
        ("openai", "", ""),
    ],
)
def test_what_the_table_cannot_know_is_unknown(provider: str, base_url: str, model: str) -> None:
    where = {"provider": provider, "base_url": base_url, "model": model}
    assert asked(Usage(1, 10, 10), **where) is None
    assert not known(**where, overrides=())
    assert known(**where, overrides=(PriceConfig(model=model, input=1, output=1),))


def test_a_model_listed_without_prices_is_not_free() -> None:
    model = "meta-llama/llama-3.2-3b-instruct:free"
    assert asked(Usage(1, 10, 10), base_url="https://openrouter.ai/api/v1", model=model) is None


@pytest.mark.parametrize("usage", [Usage(1), Usage(1, 10, None), Usage(1, None, 10)])
def test_usage_without_counts_has_no_price(usage: Usage) -> None:
    assert asked(usage, provider="openai", model=MODEL) is None
    assert asked(usage, overrides=(OWN,)) is None


def test_nothing_is_known_to_be_nothing_whatever_the_usage() -> None:
    free = PriceConfig(model="m", input=0, output=0)
    assert asked(Usage(1), base_url="http://127.0.0.1:1/v1", overrides=(free,)) == 0.0


@given(*(st.integers(0, 10**7) for _ in range(3)))
def test_more_tokens_never_cost_less(prompt: int, completion: int, cached: int) -> None:
    few = asked(Usage(1, prompt, completion, cached), overrides=(OWN,))
    more = asked(Usage(1, prompt + 1, completion + 1, cached), overrides=(OWN,))
    assert few is not None and more is not None
    assert 0 <= few < more


def test_importing_prices_does_not_load_the_table() -> None:
    code = "import sys, skillopt_cli.backends.prices; print('genai_prices' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
