"""A cell that takes as long as it is told and computes nothing: what remains is what cells cost beside their work."""

import time
from collections.abc import Mapping
from typing import Any

from awt.artifacts import Buffer
from awt.loop import Watch


def rest(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Sleeps, and returns as many bytes as a real cell of that kind would."""
    time.sleep(params["seconds"])
    watch.check_stop()
    return {"rest.bin": bytes(params["bytes"])}
