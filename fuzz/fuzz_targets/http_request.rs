//! What the page asks: the path and the query of a request.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_server::fuzzing::request_key;

fuzz_target!(|request: (&str, &str)| {
    let Some(key) = request_key(request.0, request.1) else { return };
    let (name, query) = key.split_once('?').unwrap_or((&key, ""));
    // A key is a request, and the key of that request.
    assert_eq!(request_key(name, query).as_ref(), Some(&key));
});
