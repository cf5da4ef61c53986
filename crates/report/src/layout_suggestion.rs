//! Changes of layout that may remove false sharing: which to try for which data.
//!
//! A suggestion is a guess by the bytes that threads use; whether it helps is what its simulation says.

use longpole_communication::{LayoutObject, ThreadStarts};

/// Objects for which changes are suggested.
const OBJECTS: usize = 3;

/// Changes to try, each as `--remap` takes it, several where they belong together: for the objects with the most false sharing, in
/// units of so many bytes.
#[must_use]
pub fn suggested_layouts(objects: &[LayoutObject], unit: u64) -> Vec<Vec<String>> {
    let mut shared: Vec<&LayoutObject> = objects.iter().filter(|one| is_falsely_shared(one)).collect();
    shared.sort_by_key(|one| (std::cmp::Reverse(one.false_sharing), one.name.as_str()));
    shared.into_iter().take(OBJECTS).flat_map(|one| of_object(one, unit)).collect()
}

/// Whether most of its transfers are false sharing.
fn is_falsely_shared(object: &LayoutObject) -> bool {
    object.kind != "stack" && object.false_sharing > 0 && 2 * object.false_sharing >= object.before.transfers
}

fn of_object(object: &LayoutObject, unit: u64) -> Vec<Vec<String>> {
    let LayoutObject { name, kind, size, element, thread_starts, .. } = object;
    let plain = vec![format!("align:{name}={unit}")];
    let mut suggested = Vec::new();
    match (*element, *thread_starts) {
        // The threads' bytes begin at elements, or at rows of them.
        (Some(element), Some(ThreadStarts { distance, .. }))
            if element < *size && distance % element == 0 =>
        {
            let rows = if distance == element { String::new() } else { format!("/{distance}") };
            suggested.push(vec![format!("pad:{name}{rows}={unit}")]);
        }
        (Some(element), _) if element < *size => suggested.push(vec![format!("pad:{name}={unit}")]),
        (Some(element), Some(ThreadStarts { distance, .. })) if distance < element => {
            let field = object.fields.iter().find(|field| field.offset == distance);
            let at = field.map_or_else(|| distance.to_string(), |field| field.name.clone());
            suggested.push(vec![format!("split:{name}={at}")]);
        }
        (None, Some(ThreadStarts { distance, offset })) if *kind == "heap" => {
            let from = if offset == 0 { String::new() } else { format!("+{offset}") };
            let align = format!("align:{name}{from}={unit}");
            suggested.push(match distance % unit {
                0 => vec![align],
                _ => vec![format!("pad:{name}{from}/{distance}={unit}"), align],
            });
        }
        _ => {}
    }
    if !suggested.contains(&plain) {
        suggested.push(plain);
    }
    suggested
}

#[cfg(test)]
mod tests {
    use longpole_communication::{ObjectTransfers, ThreadStarts};

    use super::*;

    fn object(name: &str, kind: &'static str, element: Option<u64>) -> LayoutObject {
        let before = ObjectTransfers { requests: 110, transfers: 100, cost: 1000 };
        let (name, size) = (name.to_owned(), if element.is_some() { 64 } else { 0 });
        LayoutObject { name, kind, size, element, before, false_sharing: 90, ..LayoutObject::default() }
    }

    #[test]
    fn an_array_is_padded_a_struct_is_split_and_allocated_blocks_are_aligned() {
        let array = LayoutObject {
            thread_starts: Some(ThreadStarts { distance: 8, offset: 0 }),
            ..object("counters", "variable", Some(8))
        };
        let rows = LayoutObject {
            thread_starts: Some(ThreadStarts { distance: 32, offset: 0 }),
            ..object("grid", "variable", Some(8))
        };
        let one = LayoutObject {
            thread_starts: Some(ThreadStarts { distance: 24, offset: 0 }),
            ..object("queue", "variable", Some(64))
        };
        let blocks = object("allocated in make", "heap", None);
        let firsts = |object: &LayoutObject| suggested_layouts(std::slice::from_ref(object), 64)[0].join(" ");
        assert_eq!(firsts(&array), "pad:counters=64");
        assert_eq!(firsts(&rows), "pad:grid/32=64");
        assert_eq!(firsts(&one), "split:queue=24");
        assert_eq!(firsts(&blocks), "align:allocated in make=64");
        let blocks = LayoutObject { thread_starts: Some(ThreadStarts { distance: 8, offset: 0 }), ..blocks };
        let both = ["pad:allocated in make/8=64", "align:allocated in make=64"];
        assert_eq!(suggested_layouts(std::slice::from_ref(&blocks), 64)[0], both);
        let starts = Some(ThreadStarts { distance: 128, offset: 16 });
        let header = LayoutObject { thread_starts: starts, ..blocks };
        assert_eq!(firsts(&header), "align:allocated in make+16=64");
    }

    #[test]
    fn data_that_is_really_shared_is_left_alone() {
        let shared = LayoutObject { false_sharing: 40, ..object("sum", "variable", Some(8)) };
        assert!(suggested_layouts(&[shared, object("stack of thread 1", "stack", None)], 64).is_empty());
        let many: Vec<LayoutObject> =
            (0..9).map(|one| object(&one.to_string(), "variable", Some(8))).collect();
        assert!(suggested_layouts(&many, 64).len() <= 2 * OBJECTS);
    }
}
