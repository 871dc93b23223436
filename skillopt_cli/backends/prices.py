"""What a call costs in US dollars: what the user says, else a price table kept by others.

The table is that of the package `genai-prices`, as installed: nothing asks the network for a newer
one. What it does not know has no price here; a model's name alone never gives one, since anybody
may serve a model under any name.
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
    """The price of one call in US dollars, None where the model's price or the usage is unknown.

    Tokens read from a cache have their own price, and in the table also those written into one;
    those of reasoning are part of the completion. An override for exactly this model wins. Else the
    address decides whose prices count, and only without an address the `provider`, whose public
    service is then meant: an address the table does not know is somebody's own server, whatever its
    models are called.

    Args:
        provider: what the table calls the service behind an empty `base_url`; "" for none.
        base_url: where the calls go; empty for the provider's own address.
    """
    own = next((price for price in overrides if price.model == model), None)
    if own is not None and not (own.input or own.output or own.cached_input):
        return 0.0  # whatever was read and written
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    if own is not None:
        return _by_override(own, usage.prompt_tokens, _cached(usage), usage.completion_tokens)
    found = _by_table(usage, provider, base_url, model)
    return None if found is None else float(found)


def known(*, provider: str, base_url: str, model: str, overrides: Sequence[PriceConfig]) -> bool:
    """Whether calls to this model have a price, as far as the service reports their tokens."""
    price = price_of(
        Usage(1, 1, 1), provider=provider, base_url=base_url, model=model, overrides=overrides
    )
    return price is not None


def _by_override(price: PriceConfig, prompt: int, cached: int, completion: int) -> float:
    """The price by what the user says; decimals, so that 0.1 means a tenth."""
    cheap = price.input if price.cached_input is None else price.cached_input
    total = (
        Decimal(str(price.input)) * (prompt - cached)
        + Decimal(str(cheap)) * cached
        + Decimal(str(price.output)) * completion
    )
    return float(total / _MILLION)


def _by_table(usage: Usage, provider: str, base_url: str, model: str) -> Decimal | None:
    """The price by the table."""
    address = _public(base_url)
    if not model or (base_url and not address) or not (address or provider):
        return None
    # Slow to import, and most commands price nothing.
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    read, cached = usage.prompt_tokens or 0, _cached(usage)
    counted = Counted(
        input_tokens=read,
        cache_read_tokens=cached,
        cache_write_tokens=min(usage.stored_tokens or 0, read - cached),
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


def _public(base_url: str) -> str:
    """The address in the table's spelling; empty for one that only this machine or site reaches."""
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
