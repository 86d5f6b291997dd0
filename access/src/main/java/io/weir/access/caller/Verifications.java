// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import io.weir.access.caller.CallerTokens.Undecided;
import io.weir.access.caller.CallerTokens.Verdict;
import io.weir.limits.policy.ApiKeyHash;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The verifications in progress, and the calls that wait for their results. All calls with the same
 * token get the same result. A fetch of the issuer's keys may take seconds, so the number of calls
 * that wait for a fetch is limited. The limit also applies to calls with the same token.
 * Thread-safe; no method blocks.
 */
final class Verifications {
  private final int maxWaitingForKeys;
  private final Object lock = new Object();

  // guarded by lock
  private final Map<ApiKeyHash, Pending> all = new HashMap<>();
  private int waitingForKeys;

  /** A verification and the calls that wait for its result. */
  private static final class Pending {
    final List<CompletableFuture<Verdict>> calls = new ArrayList<>();
    boolean awaitsKeys;
  }

  /**
   * Creates an instance without verifications.
   *
   * @param maxWaitingForKeys maximum number of calls that wait for the issuer's keys
   */
  Verifications(int maxWaitingForKeys) {
    this.maxWaitingForKeys = maxWaitingForKeys;
  }

  /**
   * Adds a call to the verification of its token. Completes the call with {@link Undecided#BUSY} if
   * the verification waits for the issuer's keys and too many calls already wait for keys.
   *
   * @return whether the call is the first call with its token, so that the caller must verify the
   *     token
   */
  boolean add(ApiKeyHash token, CompletableFuture<Verdict> call) {
    synchronized (lock) {
      Pending pending = all.get(token);
      if (pending == null) {
        pending = new Pending();
        pending.calls.add(call);
        all.put(token, pending);
        return true;
      }
      if (!pending.awaitsKeys || waitingForKeys < maxWaitingForKeys) {
        pending.calls.add(call);
        waitingForKeys += pending.awaitsKeys ? 1 : 0;
        return false;
      }
    }
    call.complete(Undecided.BUSY);
    return false;
  }

  /**
   * Makes the calls with a token wait for the issuer's keys. Completes calls above the maximum with
   * {@link Undecided#BUSY}.
   *
   * @return whether a call waits; if no call waits, the verification has ended
   */
  boolean awaitKeys(ApiKeyHash token) {
    List<CompletableFuture<Verdict>> turnedAway;
    boolean waits;
    synchronized (lock) {
      Pending pending = all.get(token);
      if (pending == null) {
        throw new IllegalStateException("no verification of the token is in progress");
      }
      int places = Math.min(pending.calls.size(), maxWaitingForKeys - waitingForKeys);
      List<CompletableFuture<Verdict>> without =
          pending.calls.subList(places, pending.calls.size());
      turnedAway = List.copyOf(without);
      without.clear();
      waitingForKeys += places;
      pending.awaitsKeys = true;
      waits = places > 0;
      if (!waits) {
        all.remove(token);
      }
    }
    turnedAway.forEach(call -> call.complete(Undecided.BUSY));
    return waits;
  }

  /** Ends the wait of a token's calls for the issuer's keys. */
  void haveKeys(ApiKeyHash token) {
    synchronized (lock) {
      Pending pending = all.get(token);
      if (pending != null && pending.awaitsKeys) {
        pending.awaitsKeys = false;
        waitingForKeys -= pending.calls.size();
      }
    }
  }

  /**
   * Ends a verification, and completes its calls. A later call with the token starts a new
   * verification.
   */
  void complete(ApiKeyHash token, Verdict verdict) {
    end(token).forEach(call -> call.complete(verdict));
  }

  /**
   * Ends a verification because of an error of this process, and completes its calls with the
   * exception.
   */
  void fail(ApiKeyHash token, Throwable fault) {
    end(token).forEach(call -> call.completeExceptionally(fault));
  }

  /** Ends all verifications, and completes their calls with the verdict. */
  void completeAll(Verdict verdict) {
    List<ApiKeyHash> tokens;
    synchronized (lock) {
      tokens = List.copyOf(all.keySet());
    }
    tokens.forEach(token -> complete(token, verdict));
  }

  private List<CompletableFuture<Verdict>> end(ApiKeyHash token) {
    synchronized (lock) {
      Pending pending = all.remove(token);
      if (pending == null) {
        return List.of();
      }
      waitingForKeys -= pending.awaitsKeys ? pending.calls.size() : 0;
      return pending.calls;
    }
  }
}
