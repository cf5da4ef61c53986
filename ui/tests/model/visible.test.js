import assert from 'node:assert/strict';
import test from 'node:test';

import { visible } from '../../model/visible.js';

test('what reorders its neighbours or is not seen is spelt out', () => {
  assert.equal(visible('a\u202eb\u2066\u200b\u2028\ufeff'), 'a\\u{202e}b\\u{2066}\\u{200b}\\u{2028}\\u{feff}');
  assert.equal(visible('\x1b[31m\x07\x9b\r'), '\\x1b[31m\\x07\\x9b\\x0d');
  assert.equal(visible('\u{e0041}'), '\\u{e0041}');
});

test('other text stays as it is', () => {
  for (const text of ['', 'std::vec::Vec<T>::push', '\tint größe;\n', '名前 🚀 שם']) assert.equal(visible(text), text);
});
