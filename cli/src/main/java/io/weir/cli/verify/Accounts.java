// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
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
      account = new WindowAccount(slot);
      keep(account);
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
      account = scratch.getObject(key(slot), WindowAccount.class);
      if (account != null) {
        keep(account);
      }
    }
    return account;
  }

  private void keep(WindowAccount account) {
    if (inMemory.size() >= MAX_IN_MEMORY) {
      save();
    }
    inMemory.put(account.slot, account);
  }

  private void save() {
    inMemory.forEach((slot, account) -> scratch.putObject(key(slot), account));
    inMemory.clear();
  }

  private static byte[] key(Slot slot) {
    return Scratch.key(Scratch.ACCOUNT, slot, 0).array();
  }

  void forEach(Range range, Consumer<WindowAccount> visitor) {
    save();
    scratch.scan(Scratch.ACCOUNT, range, WindowAccount.class, visitor);
  }
}
