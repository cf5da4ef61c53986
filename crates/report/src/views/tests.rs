//! What the views say of drawn runs.

use crate::fixture::serial_then_parallel;
use crate::view::View;

#[test]
fn no_view_is_wider_than_the_terminal() {
    for &view in View::ALL {
        for width in [80, 120] {
            let text = serial_then_parallel().text(view, width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{view} at {width}:\n{text}");
        }
    }
}

#[test]
fn the_summary_fits_one_screen() {
    let text = serial_then_parallel().text(View::Summary, 80);
    assert!(text.lines().count() <= 24, "{text}");
}
