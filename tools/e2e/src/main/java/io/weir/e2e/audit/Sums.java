// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

/** The usage of a client. Not thread-safe. */
final class Sums {
  private long quantity;
  private long allowed;
  private long denied;

  void add(Truth.Verdict call, long cost) {
    add(call.allowed() ? cost : 0, call.allowed() ? 1 : 0, call.allowed() ? 0 : 1);
  }

  void add(long moreQuantity, long moreAllowed, long moreDenied) {
    quantity += moreQuantity;
    allowed += moreAllowed;
    denied += moreDenied;
  }

  long calls() {
    return allowed + denied;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Sums sums
        && sums.quantity == quantity
        && sums.allowed == allowed
        && sums.denied == denied;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(quantity * 31 + allowed * 7 + denied);
  }

  @Override
  public String toString() {
    return quantity + " units of " + allowed + " allowed and " + denied + " denied calls";
  }
}
