// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.util.List;

/**
 * The result of a check: whether the call may pass, and whether a node or the client decided the
 * call. Immutable.
 */
public sealed interface Decision {
  /**
   * Returns the call's id: the id that the caller set, or the id that {@link WeirClient} created.
   */
  String id();

  /** Returns whether the call may pass. */
  boolean isAllowed();

  /**
   * A node has allowed and recorded the call.
   *
   * @param verdict the node's verdict
   */
  record Allowed(Verdict verdict) implements Decision {
    @Override
    public String id() {
      return verdict.id();
    }

    @Override
    public boolean isAllowed() {
      return true;
    }
  }

  /**
   * A node has denied the call.
   *
   * @param verdict the node's verdict
   * @param status the HTTP status of the verdict: 429, or 503 with the reason {@code
   *     policy-fails-closed}
   * @param reason the reason in the node's response, such as {@code not-enough-tokens}
   * @param detail a sentence that explains the reason
   * @param violatedPolicies names of the enforced policies that denied the call
   */
  record Denied(
      Verdict verdict, int status, String reason, String detail, List<String> violatedPolicies)
      implements Decision {
    public Denied {
      violatedPolicies = List.copyOf(violatedPolicies);
    }

    @Override
    public String id() {
      return verdict.id();
    }

    @Override
    public boolean isAllowed() {
      return false;
    }
  }

  /**
   * The API key of the call is unknown or has expired. The node has neither decided nor recorded
   * the call.
   *
   * @param id the call's id
   * @param detail a sentence that explains the refusal
   */
  record KeyRefused(String id, String detail) implements Decision {
    @Override
    public boolean isAllowed() {
      return false;
    }
  }

  /**
   * No node decided the call before the deadline, and {@link WeirClient} decided it instead. If a
   * response was lost, a node may have charged and recorded the call.
   *
   * @param id the call's id
   * @param isAllowed the decision: true with {@link FailureMode#OPEN}, except if the cause refuses
   *     the call in every failure mode
   * @param cause the reason why no node decided the call
   * @param detail a sentence that describes the last failure
   */
  record Undecided(String id, boolean isAllowed, Cause cause, String detail) implements Decision {}

  /** Reason why no node decided a call. */
  enum Cause {
    /** No response arrived before the timeout. */
    TIMEOUT(false),
    /** No node was reachable, or a connection ended before the response. */
    UNREACHABLE(false),
    /** A node was shutting down, or reported an internal error. */
    FAULT(false),
    /**
     * A node was overloaded, or this client has the maximum number of concurrent requests. The call
     * is refused in every failure mode: overload must not disable limits.
     */
    OVERLOADED(true),
    /**
     * A node decided the call but could not record it. The call is refused in every failure mode,
     * because Weir would not bill it.
     */
    NOT_RECORDED(true);

    private final boolean isRefusal;

    Cause(boolean isRefusal) {
      this.isRefusal = isRefusal;
    }

    /** Returns whether the cause refuses the call in every failure mode. */
    boolean isRefusal() {
      return isRefusal;
    }

    /** Returns whether a call with this cause may pass. */
    boolean passes(FailureMode mode) {
      return mode == FailureMode.OPEN && !isRefusal;
    }
  }
}
