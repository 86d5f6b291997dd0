// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/** How a decision of the cache compares with the true bucket, as far as the records show it. */
enum Judgement {
  /** No error is known. */
  RIGHT,
  /** The cache admitted the call, though the true bucket did not hold its cost. */
  WRONGLY_ADMITTED,
  /** The cache refused the call, though the true bucket held its cost. */
  WRONGLY_DENIED
}
