import assert from 'node:assert/strict';
import test from 'node:test';

import { amount, cell, phase, phaseSeconds, time, short } from '../../model/quantity.js';

test('times have three digits and the unit that suits them', () => {
  assert.equal(time(1.2345), '1.23 s');
  assert.equal(time(0.0421), '42.1 ms');
  assert.equal(time(0.00000042), '420 ns');
  assert.equal(time(0.9996), '1.00 s');
  assert.equal(time(0), '0 s');
  assert.equal(time(undefined), '');
});

test('cells are written in their unit', () => {
  assert.equal(cell(12.34, '%'), '12.3 %');
  assert.equal(cell(1.25, 'percentage points'), '± 1.3');
  assert.equal(cell(12345, ''), '12 345');
});

test('a phase is as exact as its length needs', () => {
  assert.equal(phase(0.5, 1.25), '0.5s..1.25s');
  assert.equal(phase(1.0000001, 1.0000412), '1.0000001s..1.0000412s');
  assert.deepEqual(phaseSeconds('0.5s..1.25s'), [0.5, 1.25]);
  assert.equal(phaseSeconds('20%..30%'), null);
});

test('values of any unit are short, and keep their unit', () => {
  assert.deepEqual([0, 0.5, 12, 1234.5, 999_000, 12_345_678, -4200].map(short), ['0', '0.50', '12', '1 235', '999 000', '12.3 M', '−4 200']);
  assert.deepEqual([amount(0.25, 's'), amount(1.5, 'threads'), amount(300, 'faults/s'), amount(7, ''), amount(null, 'bytes'), amount(NaN, 'bytes')],
    ['250 ms', '1.50 threads', '300 faults/s', '7', '', '']);
});

test('bytes are told in powers of 1024', () => {
  assert.deepEqual([0, 100, 2048, 20_034, -3 * 2 ** 30].map((value) => amount(value, 'B/s')), ['0 B/s', '100 B/s', '2 KiB/s', '19.6 KiB/s', '-3 GiB/s']);
  assert.equal(amount(5 * 2 ** 20, 'B'), '5 MiB');
});
