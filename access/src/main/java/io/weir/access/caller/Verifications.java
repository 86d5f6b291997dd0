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
 * The verifications that are under way, and the calls that wait for each: calls with one new token
 * are told together. While a token's key is fetched from the issuer, which may take seconds, each
 * of its calls takes one of a few places, so that no caller can make a multitude of calls wait with
 * a single token. Thread-safe; blocks no thread.
 */
final class Verifications {
  private final int maxWaitingForKeys;
  private final Object lock = new Object();

  // guarded by lock
  private final Map<ApiKeyHash, UnderWay> all = new HashMap<>();
  private int waitingForKeys;

  /** A verification, and the calls that wait for it. */
  private static final class UnderWay {
    final List<CompletableFuture<Verdict>> calls = new ArrayList<>();
    boolean awaitsKeys;
  }

  /**
   * Creates an empty collection.
   *
   * @param maxWaitingForKeys most calls that wait for the issuer's keys
   */
  Verifications(int maxWaitingForKeys) {
    this.maxWaitingForKeys = maxWaitingForKeys;
  }

  /**
   * Adds a call. It is told {@link Undecided#BUSY} at once if its token waits for the issuer's keys
   * and there is no place for one more call that does.
   *
   * @return whether the call is the first with its token, so that the token is to be verified
   */
  boolean add(ApiKeyHash token, CompletableFuture<Verdict> call) {
    synchronized (lock) {
      UnderWay underWay = all.get(token);
      if (underWay == null) {
        underWay = new UnderWay();
        underWay.calls.add(call);
        all.put(token, underWay);
        return true;
      }
      if (!underWay.awaitsKeys || waitingForKeys < maxWaitingForKeys) {
        underWay.calls.add(call);
        waitingForKeys += underWay.awaitsKeys ? 1 : 0;
        return false;
      }
    }
    call.complete(Undecided.BUSY);
    return false;
  }

  /**
   * Lets the calls with a token wait for the issuer's keys. Those for which there is no place are
   * told {@link Undecided#BUSY}.
   *
   * @return whether any of them waits; if none does, the verification is over
   */
  boolean awaitKeys(ApiKeyHash token) {
    List<CompletableFuture<Verdict>> turnedAway;
    boolean waits;
    synchronized (lock) {
      UnderWay underWay = all.get(token);
      if (underWay == null) {
        throw new IllegalStateException("the token is not being verified");
      }
      int places = Math.min(underWay.calls.size(), maxWaitingForKeys - waitingForKeys);
      List<CompletableFuture<Verdict>> without =
          underWay.calls.subList(places, underWay.calls.size());
      turnedAway = List.copyOf(without);
      without.clear();
      waitingForKeys += places;
      underWay.awaitsKeys = true;
      waits = places > 0;
      if (!waits) {
        all.remove(token);
      }
    }
    turnedAway.forEach(call -> call.complete(Undecided.BUSY));
    return waits;
  }

  /** The calls with a token do not wait for the issuer's keys any more. */
  void haveKeys(ApiKeyHash token) {
    synchronized (lock) {
      UnderWay underWay = all.get(token);
      if (underWay != null && underWay.awaitsKeys) {
        underWay.awaitsKeys = false;
        waitingForKeys -= underWay.calls.size();
      }
    }
  }

  /** Ends a verification. Who asks about the token from now on has it verified anew. */
  void tell(ApiKeyHash token, Verdict verdict) {
    end(token).forEach(call -> call.complete(verdict));
  }

  /** Ends a verification that a fault of this process has kept from being made. */
  void fail(ApiKeyHash token, Throwable fault) {
    end(token).forEach(call -> call.completeExceptionally(fault));
  }

  /** Ends all verifications, of which some will not be made. */
  void tellAll(Verdict verdict) {
    List<ApiKeyHash> tokens;
    synchronized (lock) {
      tokens = List.copyOf(all.keySet());
    }
    tokens.forEach(token -> tell(token, verdict));
  }

  private List<CompletableFuture<Verdict>> end(ApiKeyHash token) {
    synchronized (lock) {
      UnderWay underWay = all.remove(token);
      if (underWay == null) {
        return List.of();
      }
      waitingForKeys -= underWay.awaitsKeys ? underWay.calls.size() : 0;
      return underWay.calls;
    }
  }
}
