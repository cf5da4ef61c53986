import assert from 'node:assert/strict';
import test from 'node:test';

import { groupsOf, nodeOf, nodeOfRow, searched } from '../../model/metrics.js';

const OWN = [{ metric: 'effective_parallelism', title: 'Effective parallelism', isWhole: true }, { metric: 'cpu_seconds', title: 'CPU time' }];
const KNOWN = [
  { name: 'cpu_seconds', title: 'CPU', unit: 's', class: 'built-in', explanation: 'time on a processor' },
  { name: 'percent', title: 'Percent', unit: '%', class: 'built-in', has_curve: false },
  { name: 'page_faults', title: 'Page faults', unit: 'faults', class: 'external', group: 'process', level: 'thread', nodes: ['program', 'thread:1'] },
  { name: 'disk', title: 'Disk', unit: 'bytes', class: 'external', group: 'kernel', level: 'machine', nodes: ['machine:m', 'machine:m/vda'] },
  { name: 'text_only', title: 'None', unit: '', class: 'external', group: 'kernel', has_curve: false },
  { name: 'share', title: 'Share', unit: '', class: 'derived', formula: 'page_faults / 2' },
];
const names = (groups) => groups.map(({ group, metrics }) => [group, ...metrics.map(({ name }) => name)]);

test('metrics stand in groups: own ones, outside ones by their collector, derived ones; those without curves are left out', () => {
  assert.deepEqual(names(groupsOf(OWN, KNOWN)), [['Of the program’s threads', 'effective_parallelism', 'cpu_seconds'], ['From outside: process', 'page_faults'], ['From outside: kernel', 'disk'], ['Derived', 'share']]);
  assert.deepEqual(names(groupsOf(OWN, [])), [['Of the program’s threads', 'effective_parallelism', 'cpu_seconds']]);
});

test('own metrics are in threads, keep their titles and get their explanations', () => {
  const [{ metrics: [whole, cpu] }] = groupsOf(OWN, KNOWN);
  assert.deepEqual([cpu.title, cpu.unit, cpu.explanation], ['CPU time', 'threads', 'time on a processor']);
  assert.deepEqual(whole.nodes, ['program']);
});

test('a search finds names, titles, units, collectors and formulas', () => {
  const groups = groupsOf(OWN, KNOWN);
  assert.deepEqual(names(searched(groups, 'bytes')), [['From outside: kernel', 'disk']]);
  assert.deepEqual(names(searched(groups, 'PAGE faults')), [['From outside: process', 'page_faults'], ['Derived', 'share']]);
  assert.deepEqual(names(searched(groups, ' kernel ')), [['From outside: kernel', 'disk']]);
  assert.deepEqual(searched(groups, 'nowhere'), []);
});

test('the program is meant where it has the metric, else the first node that has', () => {
  assert.equal(nodeOf(KNOWN[2]), 'program');
  assert.equal(nodeOf(KNOWN[3]), 'machine:m');
  assert.equal(nodeOf(KNOWN[5]), 'program');
  assert.equal(nodeOf(undefined), 'program');
});

test('rows of the tree are nodes, but for procedures', () => {
  const row = { machine: 'm', process: 'p', pid: 7, thread: 't', tid: 8, procedure: 'f' };
  assert.deepEqual(['program', 'machine', 'process', 'thread', 'procedure'].map((kind) => nodeOfRow({ ...row, kind })), ['program', 'machine:m', 'process:7', 'thread:8', undefined]);
});
