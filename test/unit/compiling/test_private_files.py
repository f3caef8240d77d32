"""Machine code and pickles are loaded only where nobody but this user and root can have written them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rne_dynamics.compiling.store import distrust, distrusted_folder, make_folder, read_whole, write_whole

if not hasattr(os, "geteuid"):
    pytest.skip("no owners and permissions to judge by", allow_module_level=True)

#: A user and a group of no name.
STRANGER = 54321


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "kernels"
    make_folder(made)
    return made


@pytest.mark.parametrize(("mode", "said"), [
    (0o700, ""), (0o755, ""), (0o777, "everybody"), (0o757, "everybody"), (0o1777, "everybody"), (0o2757, "everybody"),
])
def test_permissions_of_the_folder_itself(folder: Path, mode: int, said: str) -> None:
    folder.chmod(mode)
    why = distrusted_folder(folder)
    assert said in why
    assert bool(why) == bool(said)
    assert not why or str(folder) in why


@pytest.mark.parametrize(("mode", "trusted"), [(0o755, True), (0o757, False), (0o1777, True)])
def test_a_folder_above_could_be_renamed_unless_it_is_sticky(folder: Path, mode: int, trusted: bool) -> None:
    within = folder / "a" / "b"
    make_folder(within)
    (folder / "a").chmod(mode)
    assert (not distrusted_folder(within)) == trusted
    assert (not distrusted_folder(within / "not there yet")) == trusted


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_others(folder: Path) -> None:
    file = folder / "x.kernel"
    write_whole(file, b"payload")
    assert read_whole(file) == b"payload"
    os.chown(file, STRANGER, -1)
    with pytest.warns(RuntimeWarning, match="54321"):
        assert read_whole(file) is None
    os.chown(file, 0, STRANGER)
    assert read_whole(file) == b"payload", "a group that may not write changes nothing"
    os.chown(folder, STRANGER, -1)
    assert "54321" in distrusted_folder(folder)
    folder.chmod(0o1777)
    assert "54321" in distrusted_folder(folder / "x"), "its owner may rename what is in it, sticky or not"
    os.chown(folder, 0, STRANGER)
    folder.chmod(0o775)
    assert f"group {STRANGER}" in distrusted_folder(folder)


def test_files_that_others_may_write(folder: Path) -> None:
    file = folder / "x.kernel"
    write_whole(file, b"payload")
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    file.chmod(0o646)
    with pytest.warns(RuntimeWarning, match="chmod go-w"):
        assert read_whole(file) is None
    file.chmod(0o644)
    link = folder / "link.kernel"
    link.symlink_to(file)
    assert read_whole(link) == b"payload", "the file counts that the link names"


def test_a_group_of_one_s_own_is_nobody_else(folder: Path) -> None:
    import grp
    import pwd

    me = pwd.getpwuid(os.geteuid())
    others = {*grp.getgrgid(me.pw_gid).gr_mem, *(u.pw_name for u in pwd.getpwall() if u.pw_gid == me.pw_gid)}
    folder.chmod(0o775)
    assert (distrust(folder.stat()) == "") == (others <= {me.pw_name})


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_folders_are_made_safe_under_any_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        make_folder(tmp_path / "a" / "b" / "c")
        make_folder(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    for name in ("a", "a/b", "a/b/c"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o755 & ~umask
