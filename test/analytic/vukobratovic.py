"""Chains whose joints have two degrees of freedom, by the formulas of document 004 as it prints them.

Member i turns by φ_i about e_i, which is fixed in member i − 1, and moves along its own direction r_ii⁰; x_i is the
distance from the joint A_i to the mass centre T_i. Sums are written out, every matrix is stored, nothing is clever:
n⁴ operations against which the package's engine is checked. Equation numbers are the document's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Member:
    """One member and the joint that carries it.

    `e_before`, `r_before` (e_i and r_{i−1,i}, from A_i to T_{i−1}) in the axes of member i − 1; `e_own`, `r_own` (e_i
    and the unit vector r_ii⁰) in its own axes; mass; `J`, about the mass centre in its own axes.
    """

    e_before: np.ndarray
    r_before: np.ndarray
    e_own: np.ndarray
    r_own: np.ndarray
    mass: float
    J: np.ndarray


class Equations(NamedTuple):
    """W q̈ = P + V for q = [φ_1, x_1, …, φ_n, x_n]."""

    W: np.ndarray
    V: np.ndarray
    W_dot: np.ndarray
    dT_dq: np.ndarray
    Y: np.ndarray


def relative_transition(member: Member) -> np.ndarray:
    """A_{i−1}ᵀ A_i⁰: the transition between neighbours at φ_i = 0, (5)–(7)."""
    e, e_own = member.e_before, member.e_own
    a = -np.cross(e, np.cross(member.r_before, e))
    a_own = np.cross(e_own, np.cross(member.r_own, e_own))
    a, a_own = a / np.linalg.norm(a), a_own / np.linalg.norm(a_own)
    here = np.column_stack([e, a, np.cross(e, a)])
    there = np.column_stack([e_own, a_own, np.cross(e_own, a_own)])
    return here @ np.linalg.inv(there)


def rodrigues(q: np.ndarray, e: np.ndarray, angle: float) -> np.ndarray:
    """(8)."""
    return q * np.cos(angle) + (1.0 - np.cos(angle)) * (e @ q) * e + np.cross(e, q) * np.sin(angle)


def rodrigues_partial(q, e, dq, de, angle: float) -> np.ndarray:
    """(8) differentiated by a coordinate below the joint, which turns q and e."""
    change = (de @ q + e @ dq) * e + (e @ q) * de
    return dq * np.cos(angle) + (1.0 - np.cos(angle)) * change + (np.cross(de, q) + np.cross(e, dq)) * np.sin(angle)


def rodrigues_by_angle(q: np.ndarray, e: np.ndarray, angle: float) -> np.ndarray:
    """(8) differentiated by its own angle."""
    return -q * np.sin(angle) + np.sin(angle) * (e @ q) * e + np.cross(e, q) * np.cos(angle)


def transitions(members: tuple[Member, ...], phi: np.ndarray) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """A_0 … A_n, and ∂A_i/∂φ_s for s = 1 … n (zero where s > i)."""
    n = len(members)
    A, dA = [np.eye(3)], [[np.zeros((3, 3)) for _ in range(n)]]
    for i, member in enumerate(members):
        relative = relative_transition(member)
        A0, e = A[i] @ relative, A[i] @ member.e_before
        A.append(np.column_stack([rodrigues(A0[:, k], e, phi[i]) for k in range(3)]))
        partial = []
        for s in range(n):
            dA0, de = dA[i][s] @ relative, dA[i][s] @ member.e_before
            columns = [
                rodrigues_by_angle(A0[:, k], e, phi[i]) if s == i
                else rodrigues_partial(A0[:, k], e, dA0[:, k], de, phi[i])
                for k in range(3)
            ]  # fmt: skip
            partial.append(np.column_stack(columns))
        dA.append(partial)
    return A, dA


def equations(
    members: tuple[Member, ...], q: np.ndarray, qd: np.ndarray, gravity: np.ndarray, slips: tuple[str, ...] = ()
) -> Equations:
    """The chain's W and V with the parts of V, (10)–(54).

    The equations named in `slips` are taken as the print or its scan has them, mistakes and all.
    """
    n = len(members)
    phi, x, phi_rate, x_rate = q[0::2], q[1::2], qd[0::2], qd[1::2]
    A, dA = transitions(members, phi)
    A_rate = [sum(dA[i][s] * phi_rate[s] for s in range(n)) for i in range(n + 1)]

    def chain(A: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
        """β (13), γ (15), δ (17a); with derivatives of A for A, theirs: (34)–(36), (45)–(47)."""
        return (
            [A[j] @ m.e_before for j, m in enumerate(members)],
            [A[j + 1] @ m.r_own for j, m in enumerate(members)],
            [A[j] @ m.r_before for j, m in enumerate(members)],
        )

    beta, gamma, delta = chain(A)
    none = [np.zeros(3)] * n

    def alpha(beta, gamma, delta, x, j: int, i: int) -> np.ndarray:
        """(16), (17): −Σ R_kj + Σ S_kj."""
        R = sum((np.cross(beta[j], delta[k]) for k in range(j + 1, i + 1)), np.zeros(3))
        first = 0 if "(16)" in slips and j < i else j
        return -R + sum(np.cross(beta[j], gamma[k] * x[k]) for k in range(first, i + 1))

    def alpha_derivative(d_beta, d_gamma, d_delta, dx, j: int, i: int) -> np.ndarray:
        """(37), (38), (48), (49), (51): each factor of (17) differentiated."""
        return (
            alpha(d_beta, gamma, delta, x, j, i) + alpha(beta, d_gamma, d_delta, x, j, i)
            + alpha(beta, gamma, none, dx, j, i)
        )  # fmt: skip

    def linear(column, gamma, i: int) -> np.ndarray:
        """M^(i) (21) from its columns α_j^i and γ_j."""
        M = np.zeros((3, 2 * n))
        for j in range(i + 1):
            M[:, 2 * j], M[:, 2 * j + 1] = column(j, i), gamma[j]
        return M

    def angular(column, i: int) -> np.ndarray:
        """Ñ^(i) from its columns B_j^i."""
        N = np.zeros((3, 2 * n))
        for j in range(i + 1):
            N[:, 2 * j] = column(j, i)
        return N

    W, W_dot = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 2 * n))
    dT_dq = np.zeros(2 * n)
    for i, member in enumerate(members):
        m, J = member.mass, member.J
        inverse = np.linalg.inv(A[i + 1])
        M = linear(lambda j, i: alpha(beta, gamma, delta, x, j, i), gamma, i)
        N = angular(lambda j, i, inverse=inverse: inverse @ beta[j], i)  # (23)
        W += m * M.T @ M + N.T @ J @ N  # (31)

        def derivatives(d_A, dx, inverse=inverse, i=i) -> tuple[np.ndarray, np.ndarray]:
            """Of M^(i) and Ñ^(i), for derivatives of the transition matrices and of x."""
            d_beta, d_gamma, d_delta = chain(d_A)
            dM = linear(lambda j, i: alpha_derivative(d_beta, d_gamma, d_delta, dx, j, i), d_gamma, i)

            def turning(j: int, i: int) -> np.ndarray:
                """(34), (45): −A⁻¹ dA A⁻¹ β + A⁻¹ dβ."""
                of_time = d_A is A_rate
                change = d_A[i] @ members[j].e_before if "(45)" in slips and not of_time else d_beta[j]
                back = np.linalg.inv(A[j + 1]) if "(34)" in slips and of_time else inverse
                return back @ change - inverse @ d_A[i + 1] @ inverse @ beta[j]

            return dM, angular(turning, i)

        def of_Z(dM, dN, M=M, N=N, m=m, J=J) -> np.ndarray:
            """(33), (42)."""
            return m * (dM.T @ M + M.T @ dM) + dN.T @ J @ N + N.T @ J @ dN

        by_time = derivatives(A_rate, x_rate)
        W_dot += of_Z(by_time[0], N if "(33)" in slips else by_time[1])  # (32)
        for s in range(i + 1):
            by_phi = derivatives([dA[k][s] for k in range(n + 1)], np.zeros(n))
            by_x = derivatives([np.zeros((3, 3))] * (n + 1), np.eye(n)[s])  # (50), (51)
            dT_dq[2 * s] += 0.5 * qd @ of_Z(*by_phi) @ qd  # (41)
            dT_dq[2 * s + 1] += 0.5 * qd @ of_Z(*by_x) @ qd

    Y = np.zeros(2 * n)
    for i in range(n):
        for k in range(i, n):
            # (53): from A_i to T_k
            r = sum(gamma[h] * x[h] for h in range(i, k + 1)) - sum(delta[h] for h in range(i + 1, k + 1))
            weight = members[k].mass * gravity
            Y[2 * i] += weight @ np.cross(beta[i], r)  # (52)
            Y[2 * i + 1] += weight @ (beta[i] if "(54)" in slips else gamma[i])  # (54), along r_ii⁰
    return Equations(W, Y + dT_dq - W_dot @ qd, W_dot, dT_dq, Y)  # (29)
