// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.sim;

/** Planted bugs, each at one edge of the simulated world; the product's code knows none of them. */
enum Mutant implements Edges {
  /** The code as it is. */
  NONE
}
