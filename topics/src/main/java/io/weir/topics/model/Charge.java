// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * The stamp of one bucket that a call was charged to.
 *
 * @param bucket the bucket's key in the decision cache
 * @param epoch identifies this life of the bucket: microseconds since 1970 by the cache's clock
 *     when the bucket was created; a flushed or expired bucket returns with a greater one
 * @param cost tokens this call took, ≥ 1
 * @param charged tokens taken from this bucket in this epoch, this call included, ≥ cost
 */
public record Charge(String bucket, long epoch, long cost, long charged) {
  public Charge {
    if (cost < 1) {
      throw new IllegalArgumentException("cost must be at least 1, is " + cost);
    }
    if (charged < cost) {
      throw new IllegalArgumentException("charged " + charged + " is less than cost " + cost);
    }
  }
}
