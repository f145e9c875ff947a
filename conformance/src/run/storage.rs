//! `with get`.

use crate::machine::{Closure, Given, Machine, Scope};
use crate::program::Storage;

pub(super) fn run(machine: &Machine, scope: &Scope, action: &Storage) {
    match action {
        Storage::With(key, value, block) => {
            let value = value.map(|value| scope.value(value));
            let block = Closure::new(machine, scope, block);
            machine.key(*key).with_value(value, || block.run(Given::Nothing));
        }
        Storage::Get(key) => {
            let value = machine.key(*key).get();
            let shown = value.map_or("none".to_owned(), |value| value.to_string());
            machine.log(format!("k{} {shown}", key.0));
        }
    }
}
