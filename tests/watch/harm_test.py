#!/usr/bin/env python3
"""The watcher breaks nothing: whatever its environment, a job prints, draws and ends as it would without it, and says once what failed."""
import concurrent.futures
import json
import os
import pathlib
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

import told
import watched
from watched import PYTHON, ROOT, WATCHER

SMALL = pathlib.Path(__file__).resolve().parent / 'small' / 'steps.py'
MODES = ('', 'override', 'closure', 'mode', 'fork', 'thread', 'kill', 'exit', 'again')


def both(mode):
    command = [PYTHON, SMALL, mode]
    return watched.run(command), watched.run(command, watcher=None)


class Harm(unittest.TestCase):
    """Each run is compared with one without the watcher."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='sharewell-watch-'))
        cls.pool = concurrent.futures.ThreadPoolExecutor(2)
        cls.runs = {mode: cls.pool.submit(both, mode) for mode in MODES}

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()
        shutil.rmtree(cls.folder)

    def place(self, name):
        place = self.folder / self.id().rsplit('.', 1)[1] / name
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def same(self, run, mode=''):
        without = self.runs[mode].result()[1]

        def said(err):
            return re.sub(r'\bpid=[0-9]+', 'pid', err.decode())  # Python from 3.12 on warns of a fork beside threads.
        self.assertEqual((run.status, run.out.decode(), said(run.err)), (without.status, without.out.decode(), said(without.err)))

    def small(self, mode='', **more):
        run = watched.run([PYTHON, SMALL, mode], **more)
        return run

    def told(self, mode, steps, documents=1):
        run = self.runs[mode].result()[0]
        self.same(run, mode)
        self.assertEqual((run.heard.steps, run.heard.off, len(run.heard.documents)), (steps, [], documents))
        for document in run.heard.documents:
            told.check(document)
        return run.heard.documents[0]

    # Programs

    def test_steps(self):
        self.told('', 12)

    def test_class_that_overrides_step(self):
        step = self.told('override', 12)
        self.assertEqual(step['optimizer'], 'Halved')

    def test_closure(self):
        step = self.told('closure', 12)
        self.assertGreater(told.count(step, 'addmm', 'forward'), 1)  # run again within the optimizer's step
        self.assertEqual(step['accumulation'], told.count(step, 'addmm', 'forward') // 2)

    def test_another_mode_listens_now_and_then(self):
        self.told('mode', 12)

    def test_fork_within_the_recorded_step(self):
        self.told('fork', 12)

    def test_torch_in_a_thread(self):
        self.told('thread', 12)

    def test_signal(self):
        run, without = self.runs['kill'].result()
        self.assertEqual((run.status, run.out), (without.status, without.out))
        self.assertEqual(run.status, -signal.SIGTERM)
        self.assertTrue(8 <= run.heard.steps <= 12, run.heard.steps)  # what was counted in the last 50 ms may be lost

    def test_exit_at_once(self):
        self.told('exit', 12)

    def test_exec(self):
        self.told('again', 24, documents=2)

    def test_a_loss_that_has_diverged(self):
        """Every step is skipped: none is told, and nobody goes on listening."""
        command = [PYTHON, ROOT / 'tests' / 'watch' / 'scripts' / 'amp.py', 'diverges']
        run, without = watched.run(command), watched.run(command, watcher=None)
        self.assertEqual((run.status, run.out, run.err), (without.status, without.out, without.err))
        self.assertIn(b'0 listen', run.out)
        self.assertEqual((run.heard.steps, run.heard.off, len(run.heard.documents)), (1, [], 0))

    def test_closed_files(self):
        mine = self.place('mine')
        run = self.small('files', MINE=mine)
        self.same(run)
        self.assertEqual(run.heard.steps, 12)
        self.assertEqual(mine.read_text(encoding='ascii'), 'mine\n')

    def test_report_step_alone_counts(self):
        progress = self.place('progress')
        run = self.small('report', places=[ROOT / 'python'], SHAREWELL_PROGRESS=progress)
        self.same(run)
        self.assertEqual(run.heard.by, ['report_step'])
        self.assertLessEqual(run.heard.steps, 1)
        self.assertEqual(len(run.heard.documents), 1)
        self.assertEqual(progress.read_bytes(), b'\n' * 12)

    # Environments

    def own(self, text):
        """A sitecustomize of the environment's own, behind the watcher's folder."""
        place = self.place('site') / 'sitecustomize.py'
        place.parent.mkdir(parents=True)
        place.write_text(text, encoding='ascii')
        return place.parent

    def one_line(self, places, watcher=WATCHER):
        command = [PYTHON, '-c', 'import sys, sitecustomize as s; print(s.__file__, sys.path, sys.modules.get("sharewell_watch"))']
        return watched.run(command, watcher=watcher, places=places)

    def test_own_sitecustomize_is_run(self):
        site = self.own('import sys\nprint("mine", __name__, __file__)\nsys.answer = 42\n')
        with_it, without = self.one_line([site]), self.one_line([site], watcher=None)
        self.assertEqual(with_it[:3], without[:3])
        self.assertIn(b'mine sitecustomize', with_it.out)
        run = self.small(places=[site])
        self.assertEqual(run.heard.steps, 12)

    def test_own_sitecustomize_that_fails(self):
        site = self.own('raise ValueError("mine")\n')
        command = [PYTHON, '-c', 'print(1)']
        with_it, without = (watched.run(command, watcher=watcher, places=[site]) for watcher in (WATCHER, None))
        self.assertEqual(with_it[:3], without[:3])
        self.assertEqual(with_it.status, 0)

    def test_own_path_is_kept(self):
        place = self.place('lib')
        place.mkdir(parents=True)
        (place / 'mine.py').write_text('print("mine")\n', encoding='ascii')
        command = [PYTHON, '-c', 'import mine, sys; print(sys.path)']
        with_it, without = (watched.run(command, watcher=watcher, places=[place]) for watcher in (WATCHER, None))
        self.assertEqual(with_it[:3], without[:3])

    def test_switched_off(self):
        pipe = self.place('pipe')
        pipe.touch()
        run = self.small(SHAREWELL_WATCH='0', SHAREWELL_WATCH_PIPE=pipe)
        self.same(run)
        self.assertEqual(pipe.read_bytes(), b'')

    def test_python_without_the_environment(self):
        pipe = self.place('pipe')
        pipe.touch()
        for flag in ('-I', '-S', '-E'):
            command = [PYTHON, flag, '-c', 'import sys; print("sitecustomize" in sys.modules and sys.modules["sitecustomize"].__file__)']
            run = watched.run(command, SHAREWELL_WATCH_PIPE=pipe)
            self.assertEqual(run.status, 0)
            self.assertNotIn(b'watcher', run.out)
        self.assertEqual(pipe.read_bytes(), b'')

    def test_python_module_and_environment(self):
        venv = self.place('venv')
        subprocess.run([PYTHON, '-m', 'venv', '--without-pip', '--system-site-packages', venv], check=True)
        # Where PyTorch is in an environment itself, one made from that does not see it.
        torch = subprocess.run([PYTHON, '-c', 'import torch; print(torch.__path__[0])'], check=True, capture_output=True, text=True).stdout
        site, = venv.glob('lib/python*/site-packages')
        (site / 'torch.pth').write_text(str(pathlib.Path(torch.strip()).parent) + '\n', encoding='utf-8')
        run = watched.run([venv / 'bin' / 'python', '-m', 'steps'], places=[SMALL.parent])
        self.same(run)
        self.assertEqual(run.heard.steps, 12)

    def test_other_programs(self):
        """No PyTorch: nothing of the watcher but its finder is there."""
        command = [PYTHON, '-c', 'import sys, json; print([n for n in sys.modules if "sharewell" in n])\ntry:\n  import nothing_of_that_name\n'
                   'except ImportError as e: print(e)']
        with_it, without = watched.run(command), watched.run(command, watcher=None)
        self.assertEqual(with_it[:3], without[:3])

    def test_another_torch(self):
        place = self.place('lib')
        place.mkdir(parents=True)
        (place / 'torch.py').write_text('print("no PyTorch")\n', encoding='ascii')
        command = [PYTHON, '-c', 'import torch; print(torch.__spec__.loader.exec_module.__qualname__)']
        with_it, without = (watched.run(command, watcher=watcher, places=[place]) for watcher in (WATCHER, None))
        self.assertEqual(with_it[:3], without[:3])
        self.assertEqual(with_it.status, 0)

    # Pipes

    def test_folder_where_nobody_made_a_file(self):
        folder = self.place('steps')
        folder.mkdir(parents=True)
        self.quiet('%s/' % folder)
        heard = told.heard((folder / 'watch').read_bytes())
        self.assertEqual((heard.steps, len(heard.documents)), (12, 1))
        self.assertEqual(stat.S_IMODE((folder / 'watch').stat().st_mode), 0o600)
        (folder / 'watch').unlink()
        (folder / 'watch').symlink_to(self.place('elsewhere'))
        self.quiet('%s/' % folder)
        self.assertFalse(self.place('elsewhere').exists())

    def quiet(self, pipe, mode=''):
        run = self.small(mode, SHAREWELL_WATCH_PIPE=pipe)
        self.same(run)

    def test_no_pipe(self):
        self.quiet(self.place('missing') / 'pipe')
        self.assertFalse(self.place('missing').exists())

    def test_pipe_is_a_folder(self):
        self.quiet(self.folder)

    def test_pipe_that_nobody_reads(self):
        pipe = self.place('pipe')
        os.mkfifo(pipe)
        self.quiet(pipe)

    def test_full_pipe(self):
        pipe = self.place('pipe')
        os.mkfifo(pipe)
        file = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        os.write(file, b'x' * 65536)
        self.quiet(pipe)
        self.assertEqual(len(os.read(file, 1 << 20)), 65536)
        os.close(file)

    def test_reader_that_goes_away(self):
        pipe = self.place('pipe')
        os.mkfifo(pipe)

        def read_a_little():
            with open(pipe, 'rb', buffering=0) as file:
                file.read(3)
        reader = threading.Thread(target=read_a_little)
        reader.start()
        self.quiet(pipe, 'default')  # SIGPIPE would end it
        reader.join()

    def test_file(self):
        pipe = self.place('file')
        pipe.touch()
        self.quiet(pipe)
        heard = told.heard(pipe.read_bytes())
        self.assertEqual((heard.steps, len(heard.documents)), (12, 1))

    # Failures of its own

    def broken(self, file, line, instead):
        """A watcher with one line of it replaced."""
        place = self.place('watcher')
        shutil.copytree(WATCHER, place, ignore=shutil.ignore_patterns('__pycache__'))
        source = place / file
        text = source.read_text(encoding='utf-8')
        self.assertEqual(text.count(line), 1, line)
        source.write_text(text.replace(line, instead), encoding='utf-8')
        return place

    def failed(self, file, line, instead, off=1):
        run = self.small(watcher=self.broken(file, line, instead))
        self.same(run)
        self.assertEqual(len(run.heard.off), off, run.heard.off)
        for text in run.heard.off:
            self.assertIn('ValueError: as planned', text)
            self.assertLessEqual(len(text), 300)
        self.assertEqual(run.heard.documents, [])
        return run.heard

    PLANNED = 'raise ValueError("as planned " + 400 * "x")'

    def test_failure_while_it_listens(self):
        self.failed('sharewell_watch/recorder.py', "        known = self.known.get(func)\n",
                    "        known = self.known.get(func)\n        if len(self.entries) == 7:\n            %s\n" % self.PLANNED)

    def test_failure_at_the_end_of_a_step(self):
        heard = self.failed('sharewell_watch/steps.py', "            key = id(optimizer)\n", "            %s\n" % self.PLANNED)
        self.assertEqual(heard.steps, 0)

    def test_failure_as_it_tells(self):
        heard = self.failed('sharewell_watch/facts.py', "    operators = recorder.operators()\n", "    %s\n" % self.PLANNED)
        self.assertEqual(heard.steps, 2)

    def test_failure_as_a_step_is_begun(self):
        self.failed('sharewell_watch/recording.py', "        self.noticed.updates += 1\n", "        %s\n" % self.PLANNED)

    def test_failure_at_the_start(self):
        self.failed('sharewell_watch/__init__.py', "    global _watch\n    if not", "    %s\n    if not" % self.PLANNED, off=0)

    def test_watcher_that_is_no_python(self):
        self.failed('sharewell_watch/steps.py', "import atexit\n", "import atexit !\n", off=0)


class Compiled(unittest.TestCase):
    """What torch.compile compiles, with its backend played: PyTorch 1.13 has none."""

    def told(self, mode, operators):
        command = [PYTHON, SMALL.parent / 'compiled.py', mode]
        run, without = watched.run(command), watched.run(command, watcher=None)
        self.assertEqual(without.status, 0, f'torch.compile does not work here, without the watcher either: {without.err[-1500:]}')
        self.assertEqual(run[:3], without[:3])
        self.assertEqual((run.status, run.heard.steps, run.heard.off), (0, 10, []))
        if operators is None:
            self.assertEqual(run.heard.documents, [])
            return None
        step, = run.heard.documents
        told.check(step)
        self.assertEqual({name: step[name] for name in ('compiled', 'modules', 'parameters', 'accumulation')},
                         {'compiled': True, 'modules': 'Sequential', 'parameters': 80, 'accumulation': 1})
        self.assertEqual([told.count(step, 'addmm', 'forward'), told.count(step, 'mm', 'backward')], operators)
        self.assertEqual(told.count(step, 'mul_', 'update'), 3)
        self.assertEqual(step['memory'], {'parameters': 320, 'gradients': 320, 'optimizer': 320, 'peak': None, 'saved': None})
        return step

    def test_model(self):
        step = self.told('', [1, 3])
        mine = [o['in'] for o in step['operators'] if o['op'] == 'aten.addmm.default']
        self.assertEqual(mine, [[['w:f32', [8]], ['f32', [4, 6]], ['w:f32', [6, 8]]]])

    def test_graph_that_is_called_twice(self):
        self.told('twice', [2, 6])

    def test_autocast_around_it(self):
        step = self.told('autocast', [1, 3])
        self.assertEqual(step['autocast'], 'bf16')
        self.assertIn('bf16', [o['in'][1][0] for o in step['operators'] if o['op'] == 'aten.addmm.default'])

    def test_optimizer(self):
        self.told('optimizer', None)


class Pieces(unittest.TestCase):
    """What needs no PyTorch."""

    def setUp(self):
        sys.path.insert(0, str(WATCHER))

    def tearDown(self):
        sys.path.remove(str(WATCHER))
        for name in [n for n in sys.modules if n.startswith('sharewell_watch')]:
            del sys.modules[name]

    def test_documents_in_pieces(self):
        from sharewell_watch import told as writer
        text = json.dumps({'a': 'x' * 9000})
        lines = [line + b'\n' for line in writer.pieces('17.3', text)]
        self.assertEqual([line.split(b' ', 4)[:4] for line in lines], [[b'doc', b'17.3', b'0', b'0'], [b'doc', b'17.3', b'1', b'0'],
                                                                       [b'doc', b'17.3', b'2', b'1']])
        self.assertLessEqual(max(map(len, lines)), 4096)
        self.assertEqual(told.heard(b''.join(lines)).documents, [json.loads(text)])

    def test_large_documents_lose_what_costs_least(self):
        from sharewell_watch import told as writer
        operators = [{'op': 'aten.view.default', 'pass': 'forward', 'count': 2, 'in': [['f32', [9000, i]]], 'out': [], 'view': True}
                     for i in range(50)]
        operators += [{'op': 'aten.mm.default', 'pass': 'forward', 'count': 3, 'in': [['f32', [i, i]], None], 'out': []} for i in range(1000)]
        whole = {'operators': operators, 'dropped': 1}
        told_step = json.loads(writer.fitted(whole, 40000))
        self.assertLessEqual(len(json.dumps(told_step, separators=(',', ':'))), 40000)
        left = [o['in'][0][1][0] for o in told_step['operators']]
        self.assertEqual(left, list(range(1000 - len(left), 1000)))
        self.assertEqual(told_step['dropped'], 1 + 50 * 2 + 3 * (1000 - len(left)))
        self.assertEqual(json.loads(writer.fitted(whole, 1 << 20)), whole)

    def test_pipe_as_standard_output_was_closed(self):
        """The pipe never becomes the file that a program prints to."""
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, 'pipe')
            open(pipe, 'w', encoding='ascii').close()
            code = ('import sys, os; sys.path.insert(0, {!r}); from sharewell_watch.pipe import Pipe\n'
                    'os.close(0); os.close(1)\n'
                    'p = Pipe({!r}); assert p.say(b"+1") and p.file > 2; assert p.say(b"+2")').format(str(WATCHER), pipe)
            subprocess.run([PYTHON, '-c', code], check=True)
            self.assertEqual(pathlib.Path(pipe).read_bytes(), b'+1\n+2\n')

    def test_pipe_never_waits(self):
        with tempfile.TemporaryDirectory() as folder:
            from sharewell_watch import pipe as module
            from sharewell_watch.pipe import Pipe
            module._PATIENCE = 60  # on a busy machine too
            path = os.path.join(folder, 'pipe')
            os.mkfifo(path)
            self.assertTrue(stat.S_ISFIFO(os.stat(path).st_mode))
            pipe = Pipe(path)
            self.assertFalse(pipe.ready())
            self.assertFalse(pipe.say(b'+1'))
            file = os.open(path, os.O_RDWR | os.O_NONBLOCK)
            lines = [b'%04d ' % i + 3000 * b'y' for i in range(60)]  # 180 KB into a pipe of 64
            pipe.tell(lines)
            self.assertTrue(pipe.waiting)
            got = b''
            while got.count(b'\n') < 60:
                self.assertTrue(select.select([file], [], [], 60)[0], 'nothing follows')
                got += os.read(file, 65536)
            self.assertEqual(got.splitlines(), lines)
            pipe.end()
            os.close(file)


if __name__ == '__main__':
    unittest.main()
