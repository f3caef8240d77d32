"""Files that are made to hang or fill the memory of what reads them; `write` makes one by its name."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

Writer = Callable[[Path], object]
#: What writes each file, by its name.
FILES: dict[str, Writer] = {}
#: Other files that one names.
NEEDS: dict[str, tuple[str, ...]] = {}


def write(folder: Path, name: str) -> None:
    """Write a file, and those that it names, to a folder that may have them already."""
    if os.path.lexists(folder / name):
        return
    FILES[name](folder / name)
    for other in NEEDS.get(name, ()):
        write(folder, other)


def text(name: str, content: str | Callable[[], str], *needs: str) -> None:
    FILES[name] = lambda path: path.write_text(content if isinstance(content, str) else content())
    NEEDS[name] = needs


def texts(contents: dict[str, str | Callable[[], str]]) -> None:
    for name, content in contents.items():
        text(name, content)


def binary(name: str, content: Callable[[], bytes]) -> None:
    FILES[name] = lambda path: path.write_bytes(content())


def sparse(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(500_000_000)


for ending in ("urdf", "xacro", "yaml", "csv", "npz", "mcap", "db3", "stl", "json"):
    FILES[f"fifo.{ending}"] = os.mkfifo
    FILES[f"zero.{ending}"] = lambda path: path.symlink_to("/dev/zero")
    FILES[f"folder.{ending}"] = Path.mkdir
    FILES[f"ring.{ending}"] = lambda path: path.symlink_to(path.name)
    FILES[f"sparse.{ending}"] = sparse
    binary(f"noise.{ending}", lambda: np.random.default_rng(0).bytes(1_000_000))

# -- robots: large, deep, entities, numbers ----------------------------------------------------------------------------

INERTIAL = (
    '<inertial><origin xyz="0 0 0.1"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" effort="100" velocity="2"/>'
#: Expands to 10¹¹ times its text.
ENTITIES = f"""<!DOCTYPE r [<!ENTITY a0 'lol'>{"".join(
    f"<!ENTITY a{k} '{f'&a{k - 1};' * 10}'>" for k in range(1, 12))}]>"""


def tree(joints: int, parent: Callable[[int], int], inertial: str = INERTIAL, kind: str = "revolute") -> str:
    links = "".join(f'<link name="l{k}">{inertial}</link>' for k in range(joints + 1))
    return f'<robot name="r">{links}' + "".join(
        f'<joint name="j{k}" type="{kind}"><parent link="l{parent(k)}"/><child link="l{k}"/><origin xyz="0 0 0.1"/>'
        f'<axis xyz="{"0 1 0" if k % 2 else "0 0 1"}"/>{LIMIT}</joint>' for k in range(1, joints + 1)
    ) + "</robot>"  # fmt: skip


def lost(count: int) -> str:
    """Joints whose parents do not exist, with names that are like many others."""
    return '<robot name="r"><link name="l0"/>' + "".join(
        f'<link name="some_link_{k}"/><joint name="some_joint_{k}" type="fixed"><parent link="some_lonk_{k}"/>'
        f'<child link="some_link_{k}"/></joint>' for k in range(count)
    ) + "</robot>"  # fmt: skip


def mesh_robot(mesh: str) -> str:
    """A robot whose mesh is read by the check, since its inertia is large."""
    shape = f'<geometry><mesh filename="{mesh}"/></geometry>'
    return (
        f'<robot name="r"><link name="l0"/><link name="l1">{INERTIAL.replace("0.01", "10")}<visual>{shape}</visual>'
        f'<collision>{shape}</collision></link><joint name="j" type="continuous"><parent link="l0"/><child link="l1"/>'
        "</joint></robot>"
    )


#: 50 and 300 joints are what commands take at most that compute in thousands of postures, and that move a robot.
for size in (50, 300, 1_000, 3_000, 9_000, 20_000):
    text(f"chain_{size}.urdf", lambda size=size: tree(size, lambda k: k - 1))
    text(f"wide_{size}.urdf", lambda size=size: tree(size, lambda k: 0))
    text(f"binary_{size}.urdf", lambda size=size: tree(size, lambda k: (k - 1) // 2))
texts({
    "fixed_9000.urdf": lambda: tree(9_000, lambda k: k - 1, kind="fixed"),
    "planar_9000.urdf": lambda: tree(9_000, lambda k: k - 1, kind="planar"),
    "bare_14000.urdf": lambda: tree(14_000, lambda k: k - 1, inertial=""),
    "joints_100000.urdf": lambda: tree(100_000, lambda k: k - 1),
    "loop_9000.urdf": lambda: tree(9_000, lambda k: (k - 2) % 9_000 + 1),
    "lost_20000.urdf": lambda: lost(20_000),
    "same_40000.urdf": lambda: '<robot name="r">' + '<link name="l"/><joint name="j"/>' * 40_000 + "</robot>",
    "unknown_90000.urdf": lambda: f'<robot name="r"><link name="l"/>{"<lonk/>" * 90_000}</robot>',
    "entities.urdf": ENTITIES + '<robot name="&a11;"><link name="l"/></robot>',
    "outside.urdf": "<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///dev/zero'>]><robot name='r'><link name='&x;'/></robot>",
    "deep.urdf": lambda: '<robot name="r">' + "<a>" * 1_000_000,
    "attribute.urdf": lambda: f'<robot name="{"n" * 40_000_000}"><link name="l"/></robot>',
    "attributes.urdf": lambda: "<robot><link " + " ".join(f"a{k}='0'" for k in range(2_000_000)) + "/></robot>",
    "digits.urdf": lambda: mesh_robot("m.stl").replace('mass value="1"', f'mass value="{"9" * 40_000_000}"'),
    "numbers.urdf": lambda: mesh_robot("m.stl").replace("0 0 0.1", "0 " * 20_000_000),
    "name.urdf": lambda: tree(1, lambda k: 0).replace('"j1"', f'"{"n" * 90_000}"').replace("0 0 0.1", "0 0 x"),
    "words.urdf": lambda: f'<robot name="r"><link name="l">{"some text " * 4_000_000}</link></robot>',
    "comment.urdf": lambda: f'<robot name="r"><!--{"- " * 20_000_000}--><link name="l"/></robot>',
    "blank.urdf": lambda: "\n" * 45_000_000,
})

# -- xacro: expressions, macros, includes ------------------------------------------------------------------------------

ROOT = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r">{}<link name="base"/></robot>'
EXPRESSIONS = {
    "power": "9**9**9", "shift": "1&lt;&lt;(1&lt;&lt;40)", "string": "'a'*10**10", "list": "[0]*10**10",
    "range": "list(range(10**9))", "sum": "sum(range(10**12))", "format": "'%1000000000000d' % 1",
    "comprehension": "[x for x in range(10**10)]", "brackets": "(" * 500 + "1" + ")" * 500, "digits": "9" * 5_000,
    "load_zero": "xacro.load_yaml('zero.yaml')", "load_fifo": "xacro.load_yaml('fifo.yaml')",
    "load_aliases": "xacro.load_yaml('aliases.yaml')",
}  # fmt: skip
PROPERTY = '<xacro:property name="{}" value="{}"/>'
DOUBLING = (
    '<xacro:macro name="m" params="n"><xacro:if value="${n}"><xacro:m n="${n-1}"/><xacro:m n="${n-1}"/></xacro:if>'
    '</xacro:macro><xacro:m n="60"/>'
)
for name, expression in EXPRESSIONS.items():
    needs = [f"{kind}.yaml" for kind in ("zero", "fifo", "aliases") if f"'{kind}.yaml'" in expression]
    text(f"{name}.xacro", ROOT.format(PROPERTY.format("x", f"${{{expression}}}") + '<link name="${x}"/>'), *needs)
texts({
    "eval.xacro": ROOT.format('<link name="$(eval 9**9**9)"/>'),
    "endless.xacro": ROOT.format('<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>'),
    "doubling.xacro": ROOT.format(DOUBLING),
    "cycle.xacro": ROOT.format(PROPERTY.format("a", "${b}") + PROPERTY.format("b", "${a}") + '<link name="${a}"/>'),
    "laughs.xacro": ROOT.format(PROPERTY.format("p0", "lol") + "".join(
        PROPERTY.format(f"p{k}", f"${{p{k - 1}}}" * 10) for k in range(1, 12)) + '<link name="${p11}"/>'),
    "entities.xacro": ENTITIES + ROOT.format("<link name='&a11;'/>"),
})
for other in ("include.xacro", "zero.urdf", "fifo.urdf", "entities.urdf", "sparse.urdf", "folder.urdf"):
    name = "include.xacro" if other == "include.xacro" else f"include_{other.removesuffix('.urdf')}.xacro"
    text(name, ROOT.format(f'<xacro:include filename="{other}"/>'), other)

# -- YAML: robots, part files, parameter files -------------------------------------------------------------------------

TENFOLD = [", ".join([f"*a{k}"] * 10) for k in range(11)]
ALIASES = "a0: &a0 [x]\n" + "".join(f"a{k}: &a{k} [{some}]\n" for k, some in enumerate(TENFOLD, 1))
texts({
    "aliases.yaml": ALIASES,
    "merges.yaml": "a0: &a0 {x: 1}\n" + "".join(
        f"a{k}: &a{k} {{<<: [{some}]}}\n" for k, some in enumerate(TENFOLD, 1)),
    "part_aliases.yaml": "- &a0 [x]\n" + "".join(f"- &a{k} [{some}]\n" for k, some in enumerate(TENFOLD, 1)),
    "itself.yaml": "urdf: puma560\nposture: &a {joint1: *a}\n",
    "deep.yaml": lambda: "urdf: " + "[" * 100_000,
    "blocks.yaml": lambda: "".join(" " * k + "a:\n" for k in range(600)),
    "integer.yaml": lambda: f"urdf: puma560\ngravity: [0, 0, {'9' * 190_000}]\n",
    "sexagesimal.yaml": lambda: f"- box: [1, 1, {'1:' * 90_000}1]\n",
    "scalar.yaml": lambda: "urdf: " + "u" * 190_000,
    "keys.yaml": lambda: "urdf: puma560\n" + "".join(f"k{k}: 1\n" for k in range(18_000)),
    "posture.yaml": lambda: "urdf: puma560\nposture:\n" + "".join(f"  joint_{k}: 1\n" for k in range(11_000)),
    "large.yaml": lambda: "urdf: puma560\nlist:\n" + "- [1, 2, 3]\n" * 4_000_000,
    "python.yaml": "urdf: !!python/object/apply:time.sleep [100]\n",
})
for other in ("zero.urdf", "fifo.urdf", "power.xacro", "chain_9000.urdf"):
    text(f"of_{other.replace('.', '_')}.yaml", f"urdf: {other}\n", other)
MODES = "urdf: planar2\nflexible:\n  link1: {{modal: {}}}\n"
for other in ("zero.npz", "fifo.npz", "shape.npz", "bomb.npz", "zero.json", "fifo.json", "deep.json", "integer.json"):
    text(f"modal_{other.replace('.', '_')}.yaml", MODES.format(other), other)

# -- meshes ------------------------------------------------------------------------------------------------------------

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
PLY = (
    "ply\nformat {} 1.0\nelement vertex 1000000000000\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1000000000000\nproperty list uchar int vertex_indices\nend_header\n"
)
binary("header.stl", lambda: bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(50))
text("header.ply", PLY.format("binary_little_endian"))
text("ascii.ply", PLY.format("ascii") + "0 0 0\n")
text("header.off", "OFF\n1000000000000 1000000000000 0\n0 0 0\n")
text("material.obj", f"mtllib zero.json\nusemtl a\n{TRIANGLE}f 1 2 3\n", "zero.json")
text("material_fifo.obj", f"mtllib fifo.json\nusemtl a\n{TRIANGLE}f 1 2 3\n", "fifo.json")
text("picture.obj", f"mtllib picture.mtl\nusemtl a\n{TRIANGLE}vt 0 0\nf 1/1 2/1 3/1\n", "picture.mtl", "picture.png")
text("picture.mtl", "newmtl a\nmap_Kd picture.png\n")
text("index.obj", f"{TRIANGLE}f 1 2 999999999999\n")
text("faces.obj", lambda: TRIANGLE + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n" * 1_500_000)
text("entities.dae", f"{ENTITIES}<COLLADA>&a11;</COLLADA>")
for other in ("zero.stl", "fifo.stl", "sparse.stl", "header.stl", "header.ply", "material.obj", "entities.dae"):
    text(f"mesh_{other.replace('.', '_')}.urdf", mesh_robot(other), other)
    text(f"part_{other.replace('.', '_')}.yaml", f"- mesh: {other}\n  density: 1000\n", other)


def picture() -> bytes:
    """A black PNG of 13,000 × 13,000 pixels: 500 kB that unpack to 500 MB."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    press, side = zlib.compressobj(9), 13_000
    data = b"".join(press.compress(bytes(3 * side + 1)) for _ in range(side)) + press.flush()
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


binary("picture.png", picture)


def glb() -> bytes:
    """A scene with 10¹¹ vertices that no buffer has."""
    scene = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "accessors": [{"componentType": 5126, "count": 10**11, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    }  # fmt: skip
    content = json.dumps(scene).encode()
    content += b" " * (-len(content) % 4)
    chunks = struct.pack("<II", len(content), 0x4E4F534A) + content + struct.pack("<II", 0, 0x004E4942)
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


binary("vertices.glb", glb)


def packed(path: Path, name: str, parts: Iterable[bytes]) -> None:
    """An archive of one large file."""
    archive = zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive, archive.open(name, "w", force_zip64=True) as out:
        for part in parts:
            out.write(part)


FILES["bomb.3mf"] = lambda path: packed(path, "3D/3dmodel.model", (b" " * 1_000_000 for _ in range(3_000)))
FILES["bomb.zip"] = lambda path: packed(path, "mesh.stl", (bytes(1_000_000) for _ in range(3_000)))

# -- recordings and tables ---------------------------------------------------------------------------------------------


def array(content: object) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(content), allow_pickle=True)
    return out.getvalue()


def declared(shape: tuple[int, ...], dtype: str = "<f8", data: bytes = bytes(64)) -> bytes:
    """An array file whose header declares what it does not have."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue() + data


def npz(name: str, **members: bytes) -> None:
    """A recording of two joints with other arrays."""
    whole = {"joint_names": array(["a", "b"]), "time": array([0.0, 1.0]), "q": array(np.zeros((2, 2))), **members}

    def save(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for key, content in whole.items():
                archive.writestr(f"{key}.npy", content)

    FILES[name] = save


for name, members in {
    "shape.npz": {"time": declared((10**15,))},
    "shape_q.npz": {"q": declared((2, 10**15))},
    "shape_overflow.npz": {"time": declared((2**62, 2**62))},
    "shape_negative.npz": {"time": declared((-8,))},
    "shape_long.npz": {"time": declared((1,) * 1_000)},
    "dtype.npz": {"time": declared((2,), "V2000000000")},
    "strings.npz": {"joint_names": declared((2,), "<U500000000")},
    "header.npz": {"time": b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 64},
    "header_deep.npz": {"time": b"\x93NUMPY\x02\x00" + struct.pack("<I", 9_000) + b"(" * 9_000},
    "objects.npz": {"time": array(np.array([{}, {}], dtype=object))},
    "names.npz": {"joint_names": array(3.0)},
    "names_flat.npz": {"joint_names": array(np.zeros((2, 2)))},
    "texts.npz": {"time": array(["x", "y"])},
    "scalar.npz": {"time": array(0.0)},
    "complex.npz": {"q": array(1j * np.zeros((2, 2)))},
    "text.npz": {"time": b"text"},
    "effort.npz": {"effort": array(1.0)},
}.items():
    npz(name, **members)
npz("members.npz", **{f"m{k}": b"" for k in range(60_000)})


def bomb(path: Path) -> None:
    """1.2 GB of zeros in 5 MB."""
    rows = 150_000_000
    packed(path, "joint_names.npy", [array(["a"])])
    packed(path, "q.npy", [array([[0.0]])])
    packed(path, "time.npy", [declared((rows,), data=b""), *[bytes(1_000_000)] * (8 * rows // 1_000_000)])


def lie(path: Path) -> None:
    """As bomb.npz, but its directory says that the array is small."""
    bomb(path)
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x01\x02")
    struct.pack_into("<I", content, at + 24, 1_000)
    path.write_bytes(content)


def largest(path: Path) -> None:
    """A recording of nearly 400 MB of zeros in 2 MB, in order."""
    rows = 1_600_000
    packed(path, "joint_names.npy", [array(["a", "b"])])
    packed(path, "time.npy", [declared((rows,), data=b""), *[bytes(1_600_000)] * 8])
    for name in ("q", "qd", "effort", "reference_q", "reference_qd", *(f"torque_{k}" for k in range(10))):
        packed(path, f"{name}.npy", [declared((rows, 2), data=b""), *[bytes(1_600_000)] * 16])


FILES |= {"bomb.npz": bomb, "lie.npz": lie, "largest.npz": largest}
texts({
    "rows.csv": lambda: "time,q/a,qd/a\n" + "0.0,0.0,0.0\n" * 2_000_000,
    "columns.csv": lambda: f"time,{','.join(f'q/a{k}' for k in range(1_000_000))}\n{'0,' * 1_000_000}0\n",
    "parts.csv": lambda: f"time,{','.join(f'p{k}/a' for k in range(300_000))},q/a\n{'0,' * 300_001}0\n",
    "field.csv": lambda: 'time,q/a\n0,"' + "0" * 60_000_000,
    "line.csv": lambda: "time," * 12_000_000,
    "nul.csv": lambda: "time,q/a\n0,\0\n",
    "quotes.csv": lambda: "time,q/a\n" + '"\n' * 5_000_000,
    "words.csv": "time,q/a\n0,zero\n",
    "twice.csv": "time,time,q/a,q/a\n0,0,0,0\n1,1,0,0\n",
})
MAGIC = b"\x89MCAP0\r\n"


def chunk(size: int, real: int) -> bytes:
    """An MCAP file with one chunk of `real` zeros, which declares another size."""
    import zstandard

    press = zstandard.ZstdCompressor(level=1).compressobj(size=real)
    data = b"".join(press.compress(bytes(min(real - done, 10**6))) for done in range(0, real, 10**6)) + press.flush()
    content = struct.pack("<QQQII4sQ", 0, 1, size, 0, 4, b"zstd", len(data)) + data
    header = struct.pack("<BQII", 1, 8, 0, 0)
    return MAGIC + header + struct.pack("<BQ", 6, len(content)) + content + MAGIC


for name, content in {
    "length.mcap": lambda: MAGIC + struct.pack("<BQ", 1, 2**63 - 1) + bytes(64),
    "chunk.mcap": lambda: chunk(10**15, 10),
    "bomb.mcap": lambda: chunk(2_000_000_000, 2_000_000_000),
    "lie.mcap": lambda: chunk(10, 2_000_000_000),
    "short.mcap": lambda: MAGIC,
}.items():
    binary(name, content)


def bag(name: str, messages: str) -> None:
    """A bag whose messages are a query."""

    def save(path: Path) -> None:
        with sqlite3.connect(path) as database:
            database.execute("create table topics(id, name, type, serialization_format, offered_qos_profiles)")
            database.execute("insert into topics values (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr', '')")
            database.execute(f"create view messages as {messages}")
        database.close()

    FILES[name] = save


bag("view.db3", "with recursive n(x) as (select 1 union all select x + 1 from n) "
    "select x as id, 1 as topic_id, x as timestamp, zeroblob(1000) as data from n")
bag("blob.db3", "select 1 as id, 1 as topic_id, 1 as timestamp, zeroblob(990000000) as data")


def folder(name: str, metadata: Writer) -> None:
    """A bag in a folder."""

    def save(path: Path) -> None:
        path.mkdir()
        metadata(path / "metadata.yaml")

    FILES[name] = save


folder("aliases.bag", lambda path: path.write_text(ALIASES))
folder("zero.bag", lambda path: path.symlink_to("/dev/zero"))
folder("fifo.bag", os.mkfifo)
folder("deep.bag", lambda path: path.write_text("rosbag2_bagfile_information: " + "[" * 100_000))
folder("sparse.bag", sparse)

texts({
    "deep.json": "[" * 1_000_000,
    "objects.json": '{"a":' * 1_000_000,
    "integer.json": lambda: f'{{"mass": {"9" * 5_000_000}}}',
    "large.json": lambda: f'{{"mass": [{"[1]," * 5_000_000}1]}}',
    "keys.json": lambda: "{" + ",".join(f'"k{k}": 1' for k in range(500_000)) + "}",
})
