// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

/** What one side says of one key and window. Mutable; not safe for threads. */
final class Tally {
  long quantity;
  long allowed;
  long denied;
  long failOpen;
  long digest;

  boolean agreesWith(Tally other) {
    return quantity == other.quantity
        && allowed == other.allowed
        && denied == other.denied
        && failOpen == other.failOpen
        && digest == other.digest;
  }

  boolean isNothing() {
    return agreesWith(new Tally());
  }

  @Override
  public String toString() {
    return "quantity "
        + quantity
        + ", allowed "
        + allowed
        + ", denied "
        + denied
        + ", fail-open "
        + failOpen
        + String.format(", digest %016x", digest);
  }
}
