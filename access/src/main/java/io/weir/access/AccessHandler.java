// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpHeaderValue;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Scheduler;
import org.jspecify.annotations.Nullable;

/**
 * A handler that rejects requests without sufficient permissions before it reads the body of the
 * request. A route gets the permissions of its caller from {@link #grantOf}. The handler never
 * blocks the thread that reads the connection. Thread-safe.
 */
public final class AccessHandler extends Handler.Wrapper {
  /** Maximum length of a body that the handler reads after it has rejected the request. */
  private static final long MAX_UNREAD_BYTES = 1024 * 1024;

  private static final Duration SLOWEST_BODY = Duration.ofSeconds(10);

  private static final String ATTRIBUTE = AccessHandler.class.getName();

  private final Access access;
  private final Rules rules;

  /** The permissions that the routes of a port require. */
  public interface Rules {
    /**
     * Returns whether the route of a request uses the path as the client sent it. If the result is
     * false, the handler rejects ambiguous paths.
     */
    default boolean readsAnyPath(Request request) {
      return false;
    }

    /** Returns the scope that a request requires; null if the request requires no token. */
    @Nullable Scope scopeOf(Request request);

    /**
     * Returns whether the route of a request checks which clients the token allows. If the result
     * is false, the handler rejects tokens that are restricted to some clients.
     */
    boolean looksAtClients(Request request);
  }

  /** Creates the handler. The handler must precede the handlers of the routes. */
  public AccessHandler(Access access, Rules rules) {
    this.access = access;
    this.rules = rules;
  }

  /**
   * Returns the permissions of the caller of a request.
   *
   * @param attribute function that returns an attribute of the request by its name
   */
  public static Grant grantOf(Function<String, @Nullable Object> attribute) {
    if (attribute.apply(ATTRIBUTE) instanceof Grant grant) {
      return grant;
    }
    throw new IllegalStateException(
        "the request must have passed the access handler before the route");
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    Problem misframed = misframed(request);
    if (misframed != null) {
      response.getHeaders().put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE);
      write(response, callback, misframed);
      return true;
    }
    Problem untrusted = rules.readsAnyPath(request) ? null : untrusted(request);
    if (untrusted != null) {
      refuse(request, response, callback, untrusted);
      return true;
    }
    Scope scope = rules.scopeOf(request);
    if (scope == null) {
      return super.handle(request, response, callback);
    }
    List<String> given = request.getHeaders().getValuesList(HttpHeader.AUTHORIZATION);
    // if the request has two such fields, a proxy may have checked the other field
    String authorization = given.size() == 1 ? given.get(0) : null;
    Optional<Access.Verdict> known = access.known(authorization);
    if (known.isPresent()) {
      return answer(known.get(), scope, request, response, callback);
    }
    Executor threads = request.getComponents().getExecutor();
    try {
      threads.execute(
          () -> {
            try {
              if (!answer(access.of(authorization), scope, request, response, callback)) {
                Response.writeError(request, response, callback, 404);
              }
            } catch (Exception | Error failed) {
              Response.writeError(request, response, callback, failed);
            }
          });
    } catch (RejectedExecutionException stopping) {
      callback.failed(stopping);
    }
    return true;
  }

  /**
   * Returns the problem of a request's transfer coding (RFC 9112 §6.1); null if there is no
   * problem. A proxy in front of Weir could see another end of the request, and interpret a part of
   * the body as a second request.
   */
  private static @Nullable Problem misframed(Request request) {
    HttpFields fields = request.getHeaders();
    if (!fields.contains(HttpHeader.TRANSFER_ENCODING)) {
      return null;
    }
    if (request.getConnectionMetaData().getHttpVersion() == HttpVersion.HTTP_1_0) {
      return Problem.malformed(400, "an HTTP/1.0 request must not have Transfer-Encoding");
    }
    List<String> codings = fields.getValuesList(HttpHeader.TRANSFER_ENCODING);
    return codings.size() == 1 && codings.get(0).strip().equalsIgnoreCase("chunked")
        ? null
        : Problem.malformed(501, "Transfer-Encoding must be only chunked, but is " + codings);
  }

  /**
   * Returns the problem of an ambiguous path, or of a request from a web page; null if there is no
   * problem.
   */
  private @Nullable Problem untrusted(Request request) {
    if (!PlainPath.isPlain(request.getHttpURI().getPath())) {
      return Problem.malformed(
          400, "a path must not have dot segments, empty segments or parameters");
    }
    return access.isOfThisMachine() && PageCheck.isOfAPage(request)
        ? Problem.of(
            ProblemReason.NOT_ALLOWED,
            "Host and Origin must name this machine because no tokens are configured. Set"
                + " WEIR_TOKENS_FILE. If a proxy in front of this process authorizes requests,"
                + " you can set WEIR_UNPROTECTED=allow instead")
        : null;
  }

  private boolean answer(
      Access.Verdict verdict, Scope scope, Request request, Response response, Callback callback)
      throws Exception {
    if (verdict instanceof Access.Refused refused) {
      challenge(response, refused.isMissing() ? "" : ", error=\"invalid_token\"");
      refuse(
          request, response, callback, Problem.of(ProblemReason.TOKEN_REFUSED, refused.detail()));
      return true;
    }
    Grant grant = ((Access.Granted) verdict).grant();
    String missing = null;
    if (!grant.scopes().contains(scope)) {
      challenge(response, ", error=\"insufficient_scope\", scope=\"" + scope.word() + '"');
      missing = "the token does not have the scope " + scope.word();
    } else if (grant.isBound() && !rules.looksAtClients(request)) {
      missing =
          "the token is restricted to the usage of some clients, but the route returns the"
              + " usage of other clients";
    }
    if (missing != null) {
      refuse(request, response, callback, Problem.of(ProblemReason.NOT_ALLOWED, missing));
      return true;
    }
    request.setAttribute(ATTRIBUTE, grant);
    return super.handle(request, response, callback);
  }

  private static void challenge(Response response, String parameters) {
    response.getHeaders().put(HttpHeader.WWW_AUTHENTICATE, "Bearer realm=\"weir\"" + parameters);
  }

  /**
   * Reads the body and then sends the response, so that the client can use the connection again. If
   * the body is long or of unknown length, the handler does not read it, and closes the connection.
   */
  private static void refuse(
      Request request, Response response, Callback callback, Problem problem) {
    long length = request.getLength();
    boolean isChunked = request.getHeaders().contains(HttpHeader.TRANSFER_ENCODING);
    if (length <= 0 && !isChunked) {
      write(response, callback, problem);
      return;
    }
    if (isChunked
        || request.getHeaders().contains(HttpHeader.EXPECT)
        || length > MAX_UNREAD_BYTES) {
      response.getHeaders().put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE);
      write(response, callback, problem);
      return;
    }
    EndPoint connection = request.getConnectionMetaData().getConnection().getEndPoint();
    Scheduler.Task tooSlow =
        request
            .getComponents()
            .getScheduler()
            .schedule(connection::close, SLOWEST_BODY.toMillis(), TimeUnit.MILLISECONDS);
    Content.Source.consumeAll(
        request,
        Callback.from(
            () -> {
              tooSlow.cancel();
              write(response, callback, problem);
            },
            failed -> {
              tooSlow.cancel();
              callback.failed(failed);
            }));
  }

  private static void write(Response response, Callback callback, Problem problem) {
    byte[] body = problem.toJson();
    response.setStatus(problem.status());
    response.getHeaders().put(HttpHeader.CACHE_CONTROL, "no-store");
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, Problem.MEDIA_TYPE);
    response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.length);
    response.write(true, ByteBuffer.wrap(body), callback);
  }
}
