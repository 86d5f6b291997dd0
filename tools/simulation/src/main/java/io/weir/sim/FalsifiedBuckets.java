// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.BucketState;
import io.weir.limits.KeptBuckets;
import io.weir.limits.LogState;
import io.weir.limits.SlotState;
import org.jspecify.annotations.Nullable;

/** The stored buckets of a cache. A {@link Mutant} falsifies some of these buckets. */
abstract class FalsifiedBuckets implements KeptBuckets {
  private final KeptBuckets real;

  FalsifiedBuckets(KeptBuckets real) {
    this.real = real;
  }

  @Override
  public @Nullable BucketState state(String bucket) {
    return real.state(bucket);
  }

  @Override
  public @Nullable LogState log(String bucket) {
    return real.log(bucket);
  }

  @Override
  public @Nullable SlotState slots(String bucket) {
    return real.slots(bucket);
  }
}
