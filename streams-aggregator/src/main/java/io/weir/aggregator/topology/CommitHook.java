// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import java.util.Map;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.CachedStateStore;
import org.jspecify.annotations.Nullable;

/**
 * A store without entries, which runs an action before each commit of its task. The action writes
 * the state that is only in memory to the other stores.
 *
 * <p>Kafka Streams has no such callback: it calls {@link StateStore#flush} after the transaction is
 * committed. Before the commit, it flushes the caches of the stores, and this class pretends to
 * have a cache. Only an internal interface of Kafka Streams declares that method. If a version of
 * Kafka Streams did not call it, the stored state would be older than the committed offset, and
 * {@link SkippedOffsets} would stop the partition. Not thread-safe.
 */
final class CommitHook implements StateStore, CachedStateStore<Object, Object> {
  private @Nullable Runnable beforeCommit;
  private boolean isOpen;

  private CommitHook() {}

  /** Replaces the action that runs before each commit. */
  void beforeCommit(Runnable action) {
    beforeCommit = action;
  }

  @Override
  public void flushCache() {
    Runnable action = beforeCommit;
    if (action != null) {
      action.run();
    }
  }

  /** Forgets the action, because the task becomes a standby task. */
  @Override
  public void clearCache() {
    beforeCommit = null;
  }

  @Override
  public boolean setFlushListener(CacheFlushListener<Object, Object> listener, boolean oldValues) {
    return false;
  }

  @Override
  public String name() {
    return ResourceNames.COMMIT_HOOK;
  }

  @Override
  public void init(StateStoreContext context, StateStore root) {
    context.register(root, (key, value) -> {});
    isOpen = true;
  }

  @Override
  public void flush() {
    // runs after the commit
  }

  @Override
  public void close() {
    beforeCommit = null;
    isOpen = false;
  }

  @Override
  public boolean persistent() {
    return false;
  }

  @Override
  public boolean isOpen() {
    return isOpen;
  }

  /** A builder of commit hooks, which have neither a changelog topic nor a cache to configure. */
  static final class Builder implements StoreBuilder<CommitHook> {
    @Override
    public CommitHook build() {
      return new CommitHook();
    }

    @Override
    public String name() {
      return ResourceNames.COMMIT_HOOK;
    }

    @Override
    public StoreBuilder<CommitHook> withCachingEnabled() {
      return this;
    }

    @Override
    public StoreBuilder<CommitHook> withCachingDisabled() {
      return this;
    }

    @Override
    public StoreBuilder<CommitHook> withLoggingEnabled(Map<String, String> config) {
      return this;
    }

    @Override
    public StoreBuilder<CommitHook> withLoggingDisabled() {
      return this;
    }

    @Override
    public Map<String, String> logConfig() {
      return Map.of();
    }

    @Override
    public boolean loggingEnabled() {
      return false;
    }
  }
}
