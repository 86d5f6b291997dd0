// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.aggregator.state.ByteStore;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A store that returns no rows when the counter queries the rows of one client and meter. The store
 * recognizes these queries by the length of the range's end. The end of a range of windows is a
 * time of eight bytes; the ends of other ranges have more than eight bytes.
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
