// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The accounts of all keys and windows. All accounts are stored on disk, and accounts in use are
 * also in memory. Not thread-safe.
 */
final class Accounts {
  /** Maximum number of accounts in memory; at about 1,000 bytes each, 50 MB. */
  private static final int MAX_IN_MEMORY = 50_000;

  private final Scratch scratch;
  private final Map<Slot, WindowAccount> inMemory = new HashMap<>();

  Accounts(Scratch scratch) {
    this.scratch = scratch;
  }

  /**
   * Returns the account of a key and window, and creates it if it is absent. The caller may change
   * the account in place until the next call of this method.
   */
  WindowAccount of(Slot slot) {
    WindowAccount account = find(slot);
    if (account == null) {
      account = new WindowAccount();
      keep(slot, account);
    }
    return account;
  }

  /**
   * Returns the account of a key and window, or null if there is none. The caller may change the
   * account as in {@link #of}.
   */
  @Nullable WindowAccount find(Slot slot) {
    WindowAccount account = inMemory.get(slot);
    if (account == null) {
      byte[] known = scratch.get(key(slot));
      if (known == null) {
        return null;
      }
      account = WindowAccount.ofBytes(known);
      keep(slot, account);
    }
    return account;
  }

  private void keep(Slot slot, WindowAccount account) {
    if (inMemory.size() >= MAX_IN_MEMORY) {
      save();
    }
    inMemory.put(slot, account);
  }

  private void save() {
    inMemory.forEach((slot, account) -> scratch.put(key(slot), account.toBytes()));
    inMemory.clear();
  }

  private static byte[] key(Slot slot) {
    byte[] bytes = slot.toBytes();
    return Scratch.key(Scratch.ACCOUNT, bytes.length).put(bytes).array();
  }

  /** Visits the accounts of windows that start in a half-open interval, in order of time. */
  void forEach(
      long fromEpochMillis, long untilEpochMillis, BiConsumer<Slot, WindowAccount> visitor) {
    save();
    scratch.scan(
        Scratch.key(Scratch.ACCOUNT, Long.BYTES).putLong(Math.max(0, fromEpochMillis)).array(),
        Scratch.key(Scratch.ACCOUNT, Long.BYTES).putLong(Math.max(0, untilEpochMillis)).array(),
        (key, value) -> {
          Slot slot = Slot.ofBytes(ByteBuffer.wrap(key, 1, key.length - 1));
          visitor.accept(slot, WindowAccount.ofBytes(value));
          return true;
        });
  }
}
