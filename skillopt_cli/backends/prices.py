"""The price of a call in US dollars: from the configuration, or else from a public price table.

The table is that of the installed package `genai-prices`, without updates over the network. Models
it does not list have no price. A model's name alone gives no price, since any server may use any
name.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from decimal import Decimal
from urllib.parse import urlsplit

from skillopt_cli.config.model_section import PriceConfig
from skillopt_cli.core.task import Usage

_MILLION = 1_000_000
_HOME_DOMAINS = ("localhost", "local", "internal", "lan", "home", "test")


def price_of(
    usage: Usage,
    *,
    provider: str,
    base_url: str,
    model: str,
    overrides: Sequence[PriceConfig],
) -> float | None:
    """Return the price of one call in US dollars; None if price or usage is unknown.

    Tokens read from a cache and those written into one have their own prices; reasoning is part of
    the completion. An override for exactly this model wins. Otherwise the
    address selects the prices, or without an address the `provider`, for its public service. An
    address that the table does not list is a private server without prices.

    Args:
        provider: the table's name of the service behind an empty `base_url`; "" for none.
        base_url: the address of the calls; empty for the provider's own.
    """
    own = next((price for price in overrides if price.model == model), None)
    if own is not None and not (own.input or own.output or own.cached_input or own.cache_write):
        return 0.0  # even without known usage
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    if own is not None:
        return _by_override(own, usage, usage.prompt_tokens, usage.completion_tokens)
    found = _by_table(usage, provider, base_url, model)
    return None if found is None else float(found)


def known(*, provider: str, base_url: str, model: str, overrides: Sequence[PriceConfig]) -> bool:
    """Whether calls to this model have a price, if the service reports their tokens."""
    price = price_of(
        Usage(1, 1, 1), provider=provider, base_url=base_url, model=model, overrides=overrides
    )
    return price is not None


def _by_override(price: PriceConfig, usage: Usage, prompt: int, completion: int) -> float:
    """Return the price by the configuration, in decimals for exact sums."""
    cheap = price.input if price.cached_input is None else price.cached_input
    dear = price.input if price.cache_write is None else price.cache_write
    cached, stored = _cached(usage), _stored(usage)
    total = (
        Decimal(str(price.input)) * (prompt - cached - stored)
        + Decimal(str(cheap)) * cached
        + Decimal(str(dear)) * stored
        + Decimal(str(price.output)) * completion
    )
    return float(total / _MILLION)


def _by_table(usage: Usage, provider: str, base_url: str, model: str) -> Decimal | None:
    """Return the price by the table."""
    address = _public(base_url)
    if not model or (base_url and not address) or not (address or provider):
        return None
    # Slow to import, and most commands price nothing.
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    counted = Counted(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=_cached(usage),
        cache_write_tokens=_stored(usage),
        output_tokens=usage.completion_tokens,
    )
    try:
        if address:
            found = calc_price(counted, model, provider_api_url=address)
        else:
            found = calc_price(counted, model, provider_id=provider)
    except LookupError:
        return None
    # A model listed without these has prices the table does not hold, not prices of zero.
    listed = (found.model_price.input_mtok, found.model_price.output_mtok)
    return None if None in listed else found.total_price


def _cached(usage: Usage) -> int:
    return min(usage.cached_tokens or 0, usage.prompt_tokens or 0)


def _stored(usage: Usage) -> int:
    return min(usage.stored_tokens or 0, (usage.prompt_tokens or 0) - _cached(usage))


def _public(base_url: str) -> str:
    """Return the address in the table's spelling; "" for one of a local network."""
    try:
        parts = urlsplit(base_url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return ""
    if "." not in host or host.rpartition(".")[2] in _HOME_DOMAINS:
        return ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return f"{parts.scheme.lower()}://{host}{parts.path}"
    return ""
