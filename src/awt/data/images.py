"""Image files as arrays of bytes."""

import io

import numpy as np
from PIL import Image, UnidentifiedImageError

# Pillow knows many more, some of which start other programs
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
_GREY = ("1", "L", "LA")
_COLOUR = ("RGB", "RGBA", "RGBX", "P", "PA", "CMYK", "YCbCr")


def decode(content: bytes, size: tuple[int, int] | None) -> np.ndarray:
    """[height, width] of a grey image, [height, width, 3] of one in colours; resized, where a size is given.

    Transparency is dropped. A ValueError says what is wrong with the file.
    """
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            return _array(image, size)
    except UnidentifiedImageError:
        raise ValueError(f"none of {', '.join(FORMATS)}") from None
    except Exception as error:  # on a broken file Pillow's decoders fail in any way
        raise ValueError(str(error) or type(error).__name__) from None


def _array(image: Image.Image, size: tuple[int, int] | None) -> np.ndarray:
    if image.mode not in (*_GREY, *_COLOUR):
        raise ValueError(f"pixels of mode {image.mode}; they must be of 8 bits a channel, grey or in colours")
    found = image.convert("L" if image.mode in _GREY else "RGB")
    if size is not None:
        height, width = size
        found = found.resize((width, height), Image.Resampling.BILINEAR)  # of all pixels, where it shrinks
    return np.asarray(found)
