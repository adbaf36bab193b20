"""Networks as pure functions that know their layers."""
