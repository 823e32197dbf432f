"""Backends that end, stop or disturb the process in which they run."""

from broken_cases import Broken
from fake_cases import COPY
from zoo_kernel_cases import add

PROCESS = (
    Broken("segfaults", add("import ctypes\nctypes.string_at(0)")),
    Broken("aborts", add("os.abort()")),
    Broken("exits", add("os._exit(0)")),
    Broken("raises_exit", add("raise SystemExit(3)")),
    Broken("raises_interrupt", add("raise KeyboardInterrupt")),
    Broken("loops", add("while True:\n    pass"), silence=8),
    Broken(
        "deadlocks",
        "import threading\nLOCK = threading.Lock()\n" + add("LOCK.acquire()\nnp.add(a, b, out=out)"),
        silence=8,
    ),
    Broken(
        "holds_the_gil",
        COPY
        + """
import ctypes
import threading

LIBC = ctypes.PyDLL(None)
READ, WRITE = os.pipe()
WANTED = threading.Semaphore(0)

def answer():
    while True:
        WANTED.acquire()
        os.write(WRITE, b"x")

threading.Thread(target=answer, daemon=True).start()

def add(a, b, *, out):
    np.add(a, b, out=out)
    WANTED.release()
    LIBC.read(READ, ctypes.create_string_buffer(1), 1)

CHANGED["add"] = add
""",
        silence=8,
    ),
    Broken(
        "chatters",
        add("""print('{"case": "add/float32/contiguous/0", "status": "PASS"}')
os.write(2, bytes(range(256)) * 100)
np.add(a, b, out=out)"""),
        passes="add/*",
    ),
    Broken("closes_pipes", add("os.closerange(3, 256)\nnp.add(a, b, out=out)")),
    Broken(
        "writes_pipes",
        add("""for descriptor in range(3, 64):
    try:
        os.write(descriptor, b"garbage\\n")
    except OSError:
        pass
np.add(a, b, out=out)"""),
    ),
    Broken(
        "ends_at_exit",
        COPY + "\nimport atexit\natexit.register(os._exit, 3)\n",
        ops=("@processes",),
        level="L4",
    ),
    Broken(
        "one_thread",
        "import threading\nHERE = threading.get_ident()\n"
        + add(
            "if threading.get_ident() != HERE:\n    raise RuntimeError('not my thread')\nnp.add(a, b, out=out)"
        ),
        passes="@threads/*/choice",
        ops=("@threads",),
        level="L4",
    ),
    Broken("changes_directory", add("os.chdir('/')\nnp.add(a, b, out=out)"), passes="add/*"),
    Broken(
        "leaves_a_child",
        COPY + "\nimport subprocess\nsubprocess.Popen(['sleep', '600'], close_fds=False)\n",
        passes="add/*",
    ),
)
