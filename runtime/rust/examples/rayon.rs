//! Work that rayon's threads do, charged to the procedures that handed it out.
//!
//! ```text
//!   main       price_orders: 16 orders of 10 ms     | check_both: join(check_stock 40, check_credit 80)
//!   pool       .... price, 160 ms on all threads .. | .... 120 ms on two of them ....
//! ```
//! Without tasks all of it is found under rayon's own threads and their job loops. With them the inclusive CPU time is
//! `price_orders` 160 ms (57 %) and `check_both` 120 ms (43 %).

use longpole_runtime::{Task, task};
use rayon::prelude::*;

include!("../../../programs/work.rs");

fn main() {
    price_orders(&[10; 16]);
    check_both();
}

/// One task for the whole loop: each piece of it is a part, on whatever thread.
#[inline(never)]
fn price_orders(orders: &[i64]) {
    let pricing = Task::spawn();
    orders.par_iter().for_each(|&order| pricing.run(c"pricing", || price(order)));
}

/// A task for each side.
#[inline(never)]
fn check_both() {
    rayon::join(task(c"check stock", check_stock), task(c"check credit", check_credit));
}

#[inline(never)]
fn price(order: i64) {
    burn!(order);
}

#[inline(never)]
fn check_stock() {
    burn!(40);
}

#[inline(never)]
fn check_credit() {
    burn!(80);
}
