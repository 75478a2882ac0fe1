"""Pictures come from their folder only and are images by content; arrays become PNG exactly."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.labelling import pictures
from lapwing.labelling.pictures import MEDIA_TYPES, media_type, picture_of, png_of

PNG = png_of(np.eye(2))


def box(*brands, size=None):
    """The first box of an AVIF file."""
    data = b"ftyp" + b"".join(brands)
    return struct.pack(">I", 4 + len(data) if size is None else size) + data


IMAGES = {
    "png": (b"\x89PNG\r\n\x1a\n", "image/png"),
    "jpeg": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
    "gif 87": (b"GIF87a", "image/gif"),
    "gif 89": (b"GIF89a", "image/gif"),
    "webp": (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
    "bmp": (b"BM" + bytes(12) + b"\x28\x00\x00\x00", "image/bmp"),
    "bmp, version 5": (b"BM" + bytes(12) + b"\x7c\x00\x00\x00", "image/bmp"),
    "avif": (box(b"avif", bytes(4), b"mif1"), "image/avif"),
    "avif, animated": (box(b"avis", bytes(4)), "image/avif"),
    "avif by a further brand": (box(b"mif1", bytes(4), b"miaf", b"avif"), "image/avif"),
}
NO_IMAGES = {
    "empty": b"",
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "svg, declared": b"<?xml version='1.0'?><svg/>",
    "html": b"<!DOCTYPE html><script>alert(1)</script>",
    "html after space": b"\n  <script>alert(1)</script>",
    "pdf": b"%PDF-1.7",
    "text": b"BM is an abbreviation, not a bitmap",
    "zip": b"PK\x03\x04",
    "tiff": b"II*\x00",
    "icon": b"\x00\x00\x01\x00",
    "sound": b"RIFF\x24\x00\x00\x00WAVEfmt ",
    "video": box(b"isom", bytes(4), b"mp42"),
    "avif as the version": box(b"mif1", b"avif", b"miaf"),
    "avif beyond the box": box(b"mif1", bytes(4), b"avif", size=16),
    "avif in a box without end": box(b"avif", bytes(4), size=0),
    "heic": box(b"heic", bytes(4), b"mif1"),
    "png in the middle": b"x\x89PNG\r\n\x1a\n",
    "png, converted": b"\x89PNG\n\x1a\n",
    "half a jpeg": b"\xff\xd8",
    "gif 90": b"GIF90a",
    "bmp of an unknown header": b"BM" + bytes(12) + b"\x29\x00\x00\x00",
}


@pytest.mark.parametrize("case", IMAGES)
def test_images_are_recognised_by_their_content(tmp_path, case):
    content, media = IMAGES[case]
    assert media_type(content) == media
    assert media in MEDIA_TYPES
    (tmp_path / "page.html").write_bytes(content)  # the name does not matter
    assert picture_of(tmp_path, "page.html") == (media, content)


@pytest.mark.parametrize("case", NO_IMAGES)
def test_other_files_are_no_pictures_whatever_their_names(tmp_path, case):
    assert media_type(NO_IMAGES[case]) is None
    (tmp_path / "a.png").write_bytes(NO_IMAGES[case])
    with pytest.raises(LookupError, match=r"'a\.png' is not a PNG, JPEG, GIF, WebP, BMP or AVIF"):
        picture_of(tmp_path, "a.png")


def test_media_types_that_are_shown_run_no_script():
    assert {media for _, media in IMAGES.values()} == MEDIA_TYPES
    assert not any("svg" in media or "html" in media for media in MEDIA_TYPES)


@given(st.binary(max_size=64))
def test_the_first_bytes_decide_and_never_fail(content):
    assert media_type(content) in {None, *MEDIA_TYPES}


# ---------------------------------------------------------------- files


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "table"
    (folder / "sub").mkdir(parents=True)
    for path in (folder / "a.png", folder / "sub" / "b ü.png", tmp_path / "secret.png"):
        path.write_bytes(PNG)
    return folder


def refusal(folder, name):
    with pytest.raises(LookupError) as caught:
        picture_of(folder, name)
    return caught.value.args[0]


def nowhere(name):
    return (
        f"there is no file {name!r} in the folder of the pictures: paths in the column must be "
        "relative to that folder, and files must lie in it"
    )


@pytest.mark.parametrize(
    "name", ["a.png", "./a.png", "sub/b ü.png", "sub/../a.png", "sub//../a.png", "../table/a.png"]
)
def test_files_in_the_folder_are_found(folder, name):
    assert picture_of(folder, name) == ("image/png", PNG)
    assert picture_of(folder, str(folder / name)) == ("image/png", PNG)


def test_links_that_stay_inside_are_followed(folder, tmp_path):
    (folder / "link.png").symlink_to("sub/b ü.png")
    (folder / "linked").symlink_to(folder / "sub")
    (tmp_path / "elsewhere").symlink_to(folder)
    for name in ("link.png", "linked/b ü.png"):
        assert picture_of(folder, name) == ("image/png", PNG)
    assert picture_of(tmp_path / "elsewhere", "a.png") == ("image/png", PNG)
    assert picture_of(tmp_path / "elsewhere", str(folder / "a.png")) == ("image/png", PNG)


OUTSIDE = (
    "../secret.png",
    "sub/../../secret.png",
    "../table/../secret.png",
    "../table2/c.png",
    "/etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "/proc/self/environ",
    "//etc/passwd",
    "link.png",
    "linked/secret.png",
    "sub/up/secret.png",
    "loop.png",
    "nothing.png",
    "a.png/b.png",
    "~/a.png",
    "$HOME/a.png",
    "file:///etc/passwd",
    "%2e%2e/secret.png",
    "a.png\0",
    "\0",
    "\ud800.png",
    "..",
    ".",
    "sub",
    "pipe.png",
    "",
    "   ",
    "C:a.png",
    "C:\\Windows\\win.ini",
    "\\\\server\\share\\a.png",
    "//server/share/a.png",
    "\\\\.\\PhysicalDrive0",
    "\\\\?\\C:\\a.png",
    "x" * 300,
    "x/" * 3000,
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_files_outside_and_odd_files_are_refused_by_one_sentence(folder, tmp_path, name):
    (tmp_path / "table2").mkdir()  # its name begins like that of the folder
    (tmp_path / "table2" / "c.png").write_bytes(PNG)
    (folder / "link.png").symlink_to("../secret.png")
    (folder / "linked").symlink_to(tmp_path)
    (folder / "sub" / "up").symlink_to("../..")
    (folder / "loop.png").symlink_to("loop.png")
    os.mkfifo(folder / "pipe.png")
    shown = name if len(name) <= 100 else name[:99] + "…"
    assert refusal(folder, name) == nowhere(shown)
    assert refusal(tmp_path / "no folder", name) == nowhere(shown)


def test_absolute_paths_outside_are_refused(folder, tmp_path):
    name = str(tmp_path / "secret.png")
    assert Path(name).is_file()
    assert refusal(folder, name) == nowhere(name if len(name) <= 100 else name[:99] + "…")


def test_a_name_that_becomes_a_link_while_it_is_read_is_not_followed(folder, tmp_path, monkeypatch):
    """What was checked is what is opened: the last step of the path is never a link."""
    resolved = pictures.Path.is_file

    def swap(path):
        found = resolved(path)
        path.unlink()
        path.symlink_to(tmp_path / "secret.png")
        return found

    monkeypatch.setattr(pictures.Path, "is_file", swap)
    assert refusal(folder, "a.png") == nowhere("a.png")


def test_a_name_that_becomes_a_pipe_does_not_block(folder, monkeypatch):
    resolved = pictures.Path.is_file

    def swap(path):
        found = resolved(path)
        path.unlink()
        os.mkfifo(path)
        return found

    monkeypatch.setattr(pictures.Path, "is_file", swap)
    assert refusal(folder, "a.png") == nowhere("a.png")


def test_large_files_are_refused(folder, monkeypatch):
    monkeypatch.setattr(pictures, "MAX_BYTES", len(PNG))
    assert picture_of(folder, "a.png")[1] == PNG
    with open(folder / "a.png", "ab") as file:
        file.write(b"x")
    assert refusal(folder, "a.png") == "the file 'a.png' has more than 50 MB: make it smaller"


def test_a_file_without_permission_is_refused_without_its_system_error(folder):
    (folder / "a.png").chmod(0)
    if os.access(folder / "a.png", os.R_OK):
        pytest.skip("this user may read every file")
    assert refusal(folder, "a.png") == nowhere("a.png")


# ---------------------------------------------------------------- arrays


def decode(png):
    """Return the pixels of a PNG file without filters, and check its structure."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    parts, rest = [], png[8:]
    while rest:
        (n,) = struct.unpack(">I", rest[:4])
        name, data = rest[4:8], rest[8 : 8 + n]
        assert struct.unpack(">I", rest[8 + n : 12 + n])[0] == zlib.crc32(name + data)
        parts.append((name, data))
        rest = rest[12 + n :]
    assert [name for name, _ in parts] == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, color, *zeros = struct.unpack(">IIBBBBB", parts[0][1])
    assert (depth, zeros) == (8, [0, 0, 0])
    n = {0: 1, 2: 3, 6: 4}[color]
    lines = np.frombuffer(zlib.decompress(parts[1][1]), np.uint8).reshape(height, 1 + n * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape((height, width) if n == 1 else (height, width, n))


def small(png, height, width):
    """Undo the enlargement, and check that it repeats whole pixels."""
    pixels = decode(png)
    factor = pixels.shape[0] // height
    assert pixels.shape[:2] == (factor * height, factor * width)
    found = pixels[::factor, ::factor]
    np.testing.assert_array_equal(found.repeat(factor, 0).repeat(factor, 1), pixels)
    return found


@given(
    shape=st.sampled_from([(1, 1), (3, 5), (8, 8), (2, 3, 3), (4, 1, 4), (200, 3)]),
    seed=st.integers(0, 1000),
)
def test_bytes_are_taken_as_they_are(shape, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)
    np.testing.assert_array_equal(small(png_of(pixels), *shape[:2]), pixels)


def test_another_decoder_sees_the_same():
    image = pytest.importorskip("matplotlib.image")
    import io

    for shape in ((9, 7), (9, 7, 3), (9, 7, 4)):
        pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
        png = png_of(pixels)
        found = np.rint(image.imread(io.BytesIO(png), format="png") * 255)
        np.testing.assert_array_equal(found, decode(png))


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((1, 1), (160, 160)),
        ((8, 8), (160, 160)),
        ((9, 4), (162, 72)),
        ((4, 9), (72, 162)),
        ((159, 2), (318, 4)),
        ((160, 160), (160, 160)),
        ((161, 1), (161, 1)),
    ],
)
def test_small_arrays_are_enlarged_by_a_whole_factor(shape, size):
    assert decode(png_of(np.zeros(shape, np.uint8))).shape == size


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("values", "pixels"),
    [
        ([[0.0, 1.0], [0.5, 0.2]], [[0, 255], [128, 51]]),
        ([[-1.0, 0.0, 3.0]], [[0, 64, 255]]),
        ([[0, 16, 8]], [[0, 255, 128]]),
        ([[0, 65535]], [[0, 255]]),
        ([[1e-300, 4e-300, 2e-300]], [[0, 255, 85]]),
        ([[5e-324, 0.0]], [[255, 0]]),
        ([[-1e308, 1e308, 0.0]], [[0, 255, 128]]),
        ([[7.0, 7.0]], [[0, 0]]),
        ([[0.0, 0.0]], [[0, 0]]),
        ([[NAN, 1.0, 2.0]], [[0, 0, 255]]),
        ([[INF, 1.0, 2.0, -INF]], [[255, 0, 255, 0]]),
        ([[NAN, NAN], [INF, -INF]], [[0, 0], [0, 0]]),
        ([[INF, 1.0]], [[0, 0]]),
        ([[True, False]], [[255, 0]]),
        ([[True, True]], [[255, 255]]),
        ([[False, False]], [[0, 0]]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_numbers_are_scaled_from_their_range(values, pixels):
    array = np.array(values)
    found = small(png_of(array), *array.shape)
    np.testing.assert_array_equal(found, pixels)
    np.testing.assert_array_equal(small(png_of(values), *array.shape), pixels)  # also a list


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i1", "i4", "i8", "u2", "u8", ">f4", ">i2"])
def test_all_types_of_numbers(kind):
    array = np.array([[0, 50, 100]]).astype(kind)
    np.testing.assert_array_equal(small(png_of(array), 1, 3), [[0, 128, 255]])


def test_views_of_arrays():
    array = np.arange(24, dtype=np.uint8).reshape(4, 6)
    for view in (array.T, array[::2, ::-1], np.asfortranarray(array)):
        np.testing.assert_array_equal(small(png_of(view), *view.shape), view)


@pytest.mark.filterwarnings("error")
def test_colours_are_scaled_together_and_alpha_apart():
    colours = np.array([[[0.0, 0.25, 0.5], [1.0, 0.5, 0.0]]])
    expected = np.array([[[0, 64, 128], [255, 128, 0]]])
    np.testing.assert_array_equal(small(png_of(colours), 1, 2), expected)

    def alpha(*values):
        array = np.dstack([colours, np.array([values], dtype=float)])
        found = small(png_of(array), 1, 2)
        np.testing.assert_array_equal(found[:, :, :3], expected)
        return found[0, :, 3].tolist()

    assert alpha(0.0, 1.0) == [0, 255]
    assert alpha(0.5, 0.5) == [128, 128]
    assert alpha(0.0, 128.0) == [0, 128]
    assert alpha(NAN, 1.0) == [0, 255]
    assert alpha(-1.0, 300.0) == [0, 255]
    assert alpha(-INF, 0.5) == [0, 128]
    assert alpha(INF, 0.5) == [255, 0]


@pytest.mark.parametrize(
    "values",
    [
        3.0,
        [1.0, 2.0],
        np.zeros((2, 2, 2)),
        np.zeros((2, 2, 5)),
        np.zeros((1, 2, 2, 3)),
        np.zeros((0, 3)),
        np.zeros((3, 0, 3)),
        np.zeros((2, 2), dtype=complex),
        [["a", "b"]],
        [[None, 1]],
        np.zeros((2, 2), dtype="M8[s]"),
    ],
)
def test_arrays_that_are_no_image_are_refused(values):
    with pytest.raises(ValueError, match=r"is not an image: numbers of shape \(height, width\)"):
        png_of(values)
