"""Access tokens for Azure OpenAI, from the Azure CLI or a managed identity."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from skillopt_cli.backends.http_errors import Place
from skillopt_cli.core.errors import AuthFailed, NetworkFailed

if TYPE_CHECKING:
    from azure.identity import AzureCliCredential, ManagedIdentityCredential

Identity = Literal["azure_cli", "managed_identity"]

_HINTS: dict[Identity, str] = {
    "azure_cli": "run `az login`, or choose another model.auth_mode, such as api_key",
    "managed_identity": "run on an Azure machine that has an identity, name one of several in"
    " managed_identity_client_id, or choose another model.auth_mode, such as azure_cli",
}
_ROLE = "has the role `Cognitive Services OpenAI User` on the resource"
REFUSED: dict[Identity, str] = {
    "azure_cli": f"check that the account of `az account show` {_ROLE}",
    "managed_identity": f"check that the managed identity {_ROLE}",
}
"""What to check when a token was had, and the service refuses it."""


class Tokens:
    """The tokens of one identity; each is kept until shortly before it expires.

    Args:
        scope: what the tokens are for.
        client_id: which of several managed identities; "" for the only one.
        place: for messages.
    """

    def __init__(self, identity: Identity, scope: str, client_id: str, place: Place) -> None:
        self._identity: Identity = identity
        self._scope = scope
        self._client_id = client_id
        self._place = place
        self._credential: AzureCliCredential | ManagedIdentityCredential | None = None
        self._provider: Callable[[], str] | None = None
        # Many calls begin at once, and one answer of the Azure CLI is enough for all of them.
        self._asking = asyncio.Lock()

    async def token(self) -> str:
        """A token that is valid now.

        Raises:
            NetworkFailed: whoever gives them cannot be reached.
            AuthFailed: none can be had.
        """
        # The async credentials need a second HTTP library, so the others ask from a thread.
        from azure.core.exceptions import AzureError, ServiceRequestError, ServiceResponseError

        reached = True
        try:
            async with self._asking:
                return await asyncio.to_thread(self._ask)
        except (AzureError, ValueError, OSError) as error:
            reached = not isinstance(error, ServiceRequestError | ServiceResponseError)
            said = self._place.scrubbed(str(error))
        if not reached:
            raise NetworkFailed(
                f"{self._place} wants a token, and the service that gives them cannot be reached"
                f" ({said})"
            )
        raise AuthFailed(
            f"{self._place} wants a token, and auth_mode `{self._identity}` gives none ({said})",
            _HINTS[self._identity],
        )

    def _ask(self) -> str:
        from azure.identity import (
            AzureCliCredential,
            ManagedIdentityCredential,
            get_bearer_token_provider,
        )

        if self._provider is None:
            # The library logs each failure, which without any handler would go to stderr.
            azure = logging.getLogger("azure")
            if not azure.handlers:
                azure.addHandler(logging.NullHandler())
            self._credential = (
                AzureCliCredential()
                if self._identity == "azure_cli"
                else ManagedIdentityCredential(client_id=self._client_id or None)
            )
            self._provider = get_bearer_token_provider(self._credential, self._scope)
        return self._provider()

    def close(self) -> None:
        """Let go of connections."""
        if self._credential is not None:
            self._credential.close()
