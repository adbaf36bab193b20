"""Numbers with powers of ten, as figures and tables say them."""

import math

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def magnitude(value: float) -> str:
    """A tick of a logarithmic axis: 0.02, 50, 10⁻⁷, 2·10⁶."""
    if 1e-3 <= value < 1e4:
        return f"{value:g}"
    digits, exponent = f"{value:.0e}".split("e")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return power if digits == "1" else f"{digits}·{power}"


def scientific(value: float) -> str:
    """`3.1·10⁴`, `−2.0·10⁻⁸`, `∞`; a dash where there is no number."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    digits, exponent = f"{value:.1e}".replace("-", "−", int(value < 0)).split("e")
    return f"{digits}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
