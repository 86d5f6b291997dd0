// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.aggregator.state.ByteStore;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A store that returns no rows for a query of one client and meter. Ranges of such queries end in
 * names, and ranges of windows end in a time of eight bytes.
 */
record UncountedStore(ByteStore real) implements ByteStore {
  @Override
  public byte @Nullable [] get(byte[] key) {
    return real.get(key);
  }

  @Override
  public void put(byte[] key, byte[] value) {
    real.put(key, value);
  }

  @Override
  public void delete(byte[] key) {
    real.delete(key);
  }

  @Override
  public List<Entry> scan(byte[] from, byte[] to, int maxEntries) {
    return to.length > Long.BYTES ? List.of() : real.scan(from, to, maxEntries);
  }
}
