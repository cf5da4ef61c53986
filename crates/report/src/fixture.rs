//! Programs and analyses made by hand for tests.
