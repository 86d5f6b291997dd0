// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.Call;
import io.weir.client.Decision;
import io.weir.client.HeldSlot;
import io.weir.client.Verdict;
import io.weir.client.WeirClient;
import io.weir.client.WeirRequestException;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * A servlet filter that checks each request with Weir. If Weir denies the call, the filter responds
 * with 429, {@code Retry-After} and the {@code RateLimit} fields. If the client is unknown, the
 * filter responds with 401. If no node decides the call, and the failure mode refuses the call, the
 * filter responds with 503. A request that passes has its {@link Decision} in the attribute {@link
 * #DECISION}. If the call holds a slot, the filter releases the slot after the response.
 * Thread-safe.
 */
public final class WeirFilter extends OncePerRequestFilter {
  /**
   * Name of the request attribute with the {@link Decision}. Only requests that pass have this
   * attribute.
   */
  public static final String DECISION = "io.weir.decision";

  private final WeirClient client;
  private final WeirCallResolver resolver;
  private final WeirStatistics statistics;

  /**
   * Creates a filter. The resolver maps requests to calls, and the client checks these calls.
   *
   * @param statistics counts the requests
   */
  public WeirFilter(WeirClient client, WeirCallResolver resolver, WeirStatistics statistics) {
    this.client = client;
    this.resolver = resolver;
    this.statistics = statistics;
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    Call call = resolver.resolve(request);
    if (call == null) {
      statistics.addUnknownCaller(
          resolver instanceof PropertiesCallResolver byProperties
              ? byProperties.missing()
              : "the WeirCallResolver of the application returned no call");
      ProblemAnswer.callerUnknown("the request does not identify its client").writeTo(response);
      return;
    }
    Decision decision;
    try {
      decision = client.check(call);
    } catch (WeirRequestException wrong) {
      answerWrong(wrong, response);
      return;
    }
    statistics.add(decision);
    if (decision.isAllowed()) {
      pass(decision, request, response, chain);
    } else {
      refuse(decision, response);
    }
  }

  private void answerWrong(WeirRequestException wrong, HttpServletResponse response)
      throws IOException {
    statistics.add(wrong);
    if (wrong.status() == 400 && wrong.field() != null) {
      ProblemAnswer.wrongMember(wrong).writeTo(response);
      return;
    }
    ProblemAnswer.undecided("the call could not be checked").writeTo(response);
  }

  private static void refuse(Decision decision, HttpServletResponse response) throws IOException {
    if (decision instanceof Decision.Denied denied) {
      addFields(denied.verdict().fields(), response);
      ProblemAnswer.denied(denied).writeTo(response);
    } else if (decision instanceof Decision.KeyRefused) {
      ProblemAnswer.callerUnknown("the API key is not accepted").writeTo(response);
    } else {
      ProblemAnswer.undecided("the call could not be decided").writeTo(response);
    }
  }

  private void pass(
      Decision decision,
      HttpServletRequest request,
      HttpServletResponse response,
      FilterChain chain)
      throws ServletException, IOException {
    request.setAttribute(DECISION, decision);
    if (!(decision instanceof Decision.Allowed allowed)) {
      chain.doFilter(request, response);
      return;
    }
    Verdict verdict = allowed.verdict();
    addFields(verdict.fields(), response);
    HeldSlot slot = verdict.slot();
    try {
      chain.doFilter(request, response);
    } finally {
      if (slot != null) {
        releaseAtTheEnd(slot, request);
      }
    }
  }

  private void releaseAtTheEnd(HeldSlot slot, HttpServletRequest request) {
    if (request.isAsyncStarted()) {
      request.getAsyncContext().addListener(new Releasing(slot));
    } else {
      release(slot);
    }
  }

  /**
   * Releases a slot, without waiting for the result. If the release fails, the slot becomes free
   * when its lease ends.
   */
  private void release(HeldSlot slot) {
    var unused = client.release(slot);
  }

  private static void addFields(Map<String, String> fields, HttpServletResponse response) {
    fields.forEach(response::setHeader);
  }

  /** A listener that releases a slot when the response to an asynchronous request is complete. */
  private final class Releasing implements AsyncListener {
    private final HeldSlot slot;

    Releasing(HeldSlot slot) {
      this.slot = slot;
    }

    @Override
    public void onComplete(AsyncEvent event) {
      release(slot);
    }

    @Override
    public void onTimeout(AsyncEvent event) {
      // onComplete follows
    }

    @Override
    public void onError(AsyncEvent event) {
      // onComplete follows
    }

    @Override
    public void onStartAsync(AsyncEvent event) {
      event.getAsyncContext().addListener(this);
    }
  }
}
