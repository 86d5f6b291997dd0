// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.aggregator.state.ByteStore;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A store that discards the values of some keys. */
record ForgetfulStore(ByteStore real, Predicate<byte[]> forgotten) implements ByteStore {
  @Override
  public byte @Nullable [] get(byte[] key) {
    return real.get(key);
  }

  @Override
  public void put(byte[] key, byte[] value) {
    if (!forgotten.test(key)) {
      real.put(key, value);
    }
  }

  @Override
  public void delete(byte[] key) {
    real.delete(key);
  }

  @Override
  public List<Entry> scan(byte[] from, byte[] to, int maxEntries) {
    return real.scan(from, to, maxEntries);
  }
}
