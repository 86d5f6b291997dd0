// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * The result of the comparison of a cache's decision with the true bucket, which is the bucket
 * according to the records.
 */
enum Judgement {
  /** No error is known. */
  RIGHT,
  /** The cache admitted the call although the true bucket had too few tokens. */
  WRONGLY_ADMITTED,
  /** The cache denied the call although the true bucket had enough tokens. */
  WRONGLY_DENIED
}
