/* Two threads, each in an instance of the same template for half of the time; their names are the same but for one argument.
 *
 *   four    linear::Product<linear::Matrix<double, 4, 4>, linear::Dense>::run     300 ms
 *   eight   linear::Product<linear::Matrix<double, 8, 8>, linear::Dense>::run     300 ms
 */
#include <thread>

#include "work.h"

namespace linear {

template <class Value, int Rows, int Columns> struct Matrix {
    Value cells[Rows * Columns];
};

struct Dense {};

template <class Operand, class Form> struct Product {
    NOINLINE static void run(Operand &operand, long milliseconds) {
        BURN(milliseconds);
        operand.cells[0] += 1;
    }
};

} // namespace linear

template <int Size> static void multiply() {
    using Operand = linear::Matrix<double, Size, Size>;
    Operand operand{};
    linear::Product<Operand, linear::Dense>::run(operand, 300);
}

int main() {
    std::thread four(multiply<4>), eight(multiply<8>);
    four.join();
    eight.join();
    return 0;
}
