// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * The result of comparing a decision of the cache with the true bucket, according to the records.
 */
enum Judgement {
  /** No error is known. */
  RIGHT,
  /** The cache admitted the call although the true bucket did not hold its cost. */
  WRONGLY_ADMITTED,
  /** The cache denied the call although the true bucket held its cost. */
  WRONGLY_DENIED
}
