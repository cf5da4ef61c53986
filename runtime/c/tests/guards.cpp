// Scope guards, which exceptions end too.
#include "../longpole.h"

static int fails(const longpole::task &task)
{
	return task.run("part", []() -> int {
		longpole::region inner("inner");
		throw 3;
	});
}

int main()
{
	longpole::region outer("outer");
	longpole::task task;
	try {
		fails(task);
	} catch (int value) {
		return value == 3 ? 0 : 1;
	}
	return 2;
}
