#!/usr/bin/env python3
"""Ten training scripts of different style, unmodified: their steps are counted right, what is told of them is right, and what they
print, their exit status and their random numbers are the same with the watcher and without it."""
import concurrent.futures
import os
import pathlib
import tempfile
import unittest

import told
import watched


def both(name):
    """With the watcher and without it."""
    return watched.script(name), watched.script(name, watcher=None)


class Loops(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pool = concurrent.futures.ThreadPoolExecutor(2)
        names = ('plain', 'trainer', 'amp', 'accumulation', 'gan', 'evaluation', 'loaders', 'forked', 'failing')
        cls.runs = {name: cls.pool.submit(both, name) for name in names}

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()

    def told(self, name, steps, status=0, documents=1):
        """Runs a script both ways, compares, and gives what was told."""
        with_it, without = self.runs[name].result()
        self.assertEqual(with_it.status, status, with_it.err.decode())
        self.assertEqual((with_it.status, with_it.out, with_it.err), (without.status, without.out, without.err))
        self.assertEqual(with_it.heard.off, [])
        self.assertEqual(with_it.heard.steps, steps)
        self.assertEqual(len(with_it.heard.documents), documents)
        for document in with_it.heard.documents:
            told.check(document)
        return with_it.heard.documents[0]

    def facts(self, document, **expected):
        self.assertEqual({name: document[name] for name in expected}, expected)

    def test_plain(self):
        step = self.told('plain', 16)
        self.facts(step, device='cpu', batch=8, accumulation=1, optimizer='SGD', optimizers=1, optimizer_style='for-loop', precision='fp32',
                   autocast=None, grad_scaler=False, workers=2, compiled=False, channels_last=True, checkpointing=False, cuda_graphs=False,
                   world_size=1, parallel=None, parameters=330, trainable=330, modules='Sequential', measured_peak=None, dropped=0)
        forward = [o for o in step['operators'] if o['op'] == 'aten.convolution.default']
        self.assertEqual(forward, [{
            'op': 'aten.convolution.default', 'pass': 'forward', 'count': 1,
            'in': [['f32', [8, 3, 16, 16]], ['w:f32', [8, 3, 3, 3]], ['w:f32', [8]]], 'out': [['f32', [8, 8, 14, 14]]],
            'arg': {'stride': [1, 1], 'padding': [0, 0], 'dilation': [1, 1], 'transposed': False, 'output_padding': [0, 0], 'groups': 1},
            'cl': True}])
        self.assertEqual(told.count(step, 'convolution_backward', 'backward'), 1)
        self.assertEqual(told.count(step, 'mm', 'backward'), 2)
        # SGD with momentum goes through six tensors: momentum, and the weight.
        self.assertEqual(told.count(step, 'mul_', 'update'), 6)
        self.assertEqual(told.count(step, 'randn'), 0)  # the loader's, in its workers
        memory = step['memory']
        self.assertEqual([memory[name] for name in ('parameters', 'gradients', 'optimizer')], [1320] * 3)
        # The images, the convolution's, the normalisation's and the dropout's outputs at least wait for the backward pass.
        image, inner = 8 * 3 * 16 * 16 * 4, 8 * 8 * 14 * 14 * 4
        self.assertGreaterEqual(memory['saved'], image + 3 * inner)
        self.assertLess(memory['saved'], image + 6 * inner)
        self.assertGreaterEqual(memory['peak'], memory['saved'] + 3 * 1320)

    def test_trainer(self):
        step = self.told('trainer', 12)
        self.facts(step, batch=4, accumulation=1, optimizer='AdamW', precision='fp32', autocast='bf16', workers=None, modules='Tagger')
        self.assertGreater(told.count(step, 'bmm', 'forward'), 0)
        self.assertEqual(told.count(step, 'addcdiv_', 'update'), 15)
        # Clipping the gradients belongs to the update.
        self.assertEqual(told.count(step, 'linalg_vector_norm', 'forward') + told.count(step, 'norm', 'forward'), 0)
        self.assertTrue(any(o['in'][0][0] == 'bf16' for o in step['operators'] if o['op'] == 'aten.bmm.default'))

    def test_amp(self):
        step = self.told('amp', 11)
        self.facts(step, batch=6, accumulation=1, optimizer='RMSprop', grad_scaler=True, autocast='bf16')
        # Two of three first steps are skipped: what is told is one whole step all the same.
        self.assertEqual(told.count(step, 'gelu', 'forward'), 1)
        self.assertEqual(told.count(step, 'addcdiv_', 'update'), 4)

    def test_accumulation(self):
        step = self.told('accumulation', 12)
        self.facts(step, batch=4, accumulation=4, optimizer='Adam', workers=0, checkpointing=True, parameters=1699, trainable=1155)
        self.assertEqual(told.count(step, 'addmm', 'forward'), 12)
        self.assertEqual(told.count(step, 'addmm', 'backward'), 4)  # computed again
        frozen = {x[0] for o in step['operators'] for x in o['in'] if isinstance(x, list) and x[0].startswith('p:')}
        self.assertEqual(frozen, {'p:f32'})

    def test_gan(self):
        step = self.told('gan', 20)
        self.facts(step, batch=10, optimizer='Adam', modules='Sequential', parameters=1393, trainable=1393)
        self.assertIn(step['optimizers'], (1, 2))

    def test_evaluation(self):
        step = self.told('evaluation', 18)
        self.facts(step, batch=10, accumulation=1, workers=0)
        self.assertEqual(told.count(step, 'argmax'), 0)  # a step without an evaluation in it
        self.assertEqual(told.count(step, 'tanh', 'forward'), 1)

    def test_loaders(self):
        step = self.told('loaders', 16)
        self.facts(step, batch=6, optimizer='Adam', optimizer_style='foreach', modules='Reader')
        lists = [x for o in step['operators'] if '_foreach_' in o['op'] for x in o['in'] if isinstance(x, dict)]
        self.assertTrue(lists)
        self.assertTrue(all(sum(kind[2] for kind in x['list']) == 6 for x in lists), lists)

    def test_forked(self):
        self.told('forked', 5 + 7 + 4 + 4 + 6, documents=4)

    def test_failing(self):
        step = self.told('failing', 9, status=1)
        self.facts(step, batch=5, optimizer='Adagrad')

    def test_distributed(self):
        with tempfile.TemporaryDirectory() as folder:
            results = []
            for watcher in (watched.WATCHER, None):
                out = os.path.join(folder, 'with' if watcher else 'without')
                # Python 3.11 breaks what PyTorch 1.13 does where nothing is said of outputs.
                command = [watched.PYTHON, '-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', '2', '--redirects', '0:1,1:1',
                           '--tee', '0:1,1:1', '--log_dir', folder, watched.SCRIPTS / 'distributed.py']
                run = watched.run(command, watcher=watcher, OUT=out)
                self.assertEqual(run.status, 0, run.err.decode())
                results.append([pathlib.Path(out + '.' + rank).read_text(encoding='ascii') for rank in '01'])
                if watcher:
                    self.assertEqual((run.heard.steps, run.heard.off, len(run.heard.documents)), (10, [], 1))
                    told.check(run.heard.documents[0])
                    self.facts(run.heard.documents[0], batch=4, world_size=2, parallel='ddp', modules='Sequential', parameters=142)
            self.assertEqual(*results)


if __name__ == '__main__':
    unittest.main()
