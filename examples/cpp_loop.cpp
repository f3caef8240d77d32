// A controller and integrator in C++ that calls machine code of rne.c_function; examples/cpp_loop.py compiles and runs it.
#include <vector>

using InverseDynamics = int (*)(const double *q, const double *qd, const double *qdd, double *tau);
using ForwardDynamics = int (*)(const double *q, const double *qd, const double *tau, double *qdd);

// Computed torque towards `goal` and semi-implicit Euler; `q` and `qd`, of n joints, are changed. 0, or what went wrong.
extern "C" int reach(
    InverseDynamics inverse_dynamics, ForwardDynamics forward_dynamics, int n, double *q, double *qd,
    const double *goal, int steps, double dt)
{
    std::vector<double> wanted(n), tau(n), qdd(n);
    for (int step = 0; step < steps; ++step) {
        for (int j = 0; j < n; ++j)
            wanted[j] = 25.0 * (goal[j] - q[j]) - 10.0 * qd[j];
        int status = inverse_dynamics(q, qd, wanted.data(), tau.data());
        if (status == 0)
            status = forward_dynamics(q, qd, tau.data(), qdd.data());
        if (status != 0)
            return status;
        for (int j = 0; j < n; ++j) {
            qd[j] += dt * qdd[j];
            q[j] += dt * qd[j];
        }
    }
    return 0;
}
