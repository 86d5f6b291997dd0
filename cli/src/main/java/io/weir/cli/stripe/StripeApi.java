// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Sends meter events. Retries if Stripe does not respond, or responds with 409, 429 or 5xx. Stripe
 * limits the concurrent calls of a customer and meter, and the calls a second, with 409 and 429.
 * Thread-safe.
 */
final class StripeApi implements Stripe {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String PATH = "/v1/billing/meter_events";
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(30);
  private static final long FIRST_PAUSE_MILLIS = 250;
  private static final long LONGEST_PAUSE_MILLIS = 30_000;
  private static final int MAX_SHOWN = 300;

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(10))
          .build();
  private final URI events;
  private final String key;
  private final Duration retryFor;
  private final long spacingNanos;
  private long nextNanos = System.nanoTime();

  /**
   * Creates a client.
   *
   * @param base the API's address, without a path
   * @param key the secret key, which no message contains
   * @param retryFor maximum time to retry an event
   * @param rate maximum number of requests a second, of all threads
   */
  StripeApi(URI base, String key, Duration retryFor, int rate) {
    this.events = base.resolve(PATH);
    this.key = key;
    this.retryFor = retryFor;
    this.spacingNanos = TimeUnit.SECONDS.toNanos(1) / rate;
  }

  @Override
  public Answer send(MeterEvent event) throws InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(events)
            .timeout(REQUEST_TIMEOUT)
            .header("Authorization", "Bearer " + key)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(HttpRequest.BodyPublishers.ofString(event.form()))
            .build();
    long end = System.nanoTime() + retryFor.toNanos();
    boolean mayHave = false;
    for (int attempt = 0; ; attempt++) {
      awaitTurn();
      String trouble;
      long pause = pauseMillis(attempt);
      try {
        HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
        int status = response.statusCode();
        if (!isToBeTriedAgain(status)) {
          return answer(status, response.body(), mayHave);
        }
        mayHave |= status >= 500;
        trouble = "Stripe returns " + status + explained(response.body());
        pause = Math.max(pause, retryAfterMillis(response));
      } catch (ConnectException unreachable) {
        trouble = "Stripe cannot be reached at " + events.getAuthority();
      } catch (IOException broken) {
        mayHave = true;
        trouble = "no response from Stripe at " + events.getAuthority() + ": " + broken;
      }
      if (System.nanoTime() + pause * 1_000_000 > end) {
        return new NoAnswer(trouble + "; tried for " + retryFor, mayHave);
      }
      Thread.sleep(pause);
    }
  }

  /** Waits until the next request may be sent. Requests of all threads are evenly spaced. */
  private void awaitTurn() throws InterruptedException {
    long waitNanos;
    synchronized (this) {
      long now = System.nanoTime();
      long mine = Math.max(now, nextNanos);
      nextNanos = mine + spacingNanos;
      waitNanos = mine - now;
    }
    TimeUnit.NANOSECONDS.sleep(waitNanos);
  }

  private static boolean isToBeTriedAgain(int status) {
    return status == 409 || status == 429 || status >= 500;
  }

  /**
   * Returns a random pause whose bound doubles with each attempt, so that callers do not retry at
   * the same time.
   */
  private static long pauseMillis(int attempt) {
    long longest = Math.min(LONGEST_PAUSE_MILLIS, FIRST_PAUSE_MILLIS << Math.min(attempt, 10));
    return ThreadLocalRandom.current().nextLong(longest / 2, longest + 1);
  }

  private static long retryAfterMillis(HttpResponse<String> response) {
    String seconds = response.headers().firstValue("Retry-After").orElse("0");
    return seconds.matches("[0-9]{1,4}") ? Long.parseLong(seconds) * 1_000 : 0;
  }

  private Answer answer(int status, String body, boolean mayHave) {
    if (status == 200) {
      return new Accepted(false);
    }
    if (status == 400 && isDuplicate(body)) {
      return new Accepted(!mayHave); // else it may be an earlier try of this call
    }
    if (status == 401 || status == 403 || status == 404 || status < 400) {
      return new NoAnswer("Stripe returns " + status + explained(body), mayHave);
    }
    return new Refused(status + explained(body), mayHave);
  }

  /**
   * Returns whether an error means that the event exists. Stripe documents the error code, but some
   * of its responses have only the error message.
   */
  private static boolean isDuplicate(String body) {
    JsonNode error = error(body);
    return error.path("code").asText().equals("duplicate_meter_event")
        || error.path("message").asText().contains("already exists with identifier");
  }

  /** Returns the error message of a response, without the secret key. */
  private String explained(String body) {
    String message = error(body).path("message").asText().replace(key, "***");
    if (message.isEmpty()) {
      return "";
    }
    return ": " + (message.length() > MAX_SHOWN ? message.substring(0, MAX_SHOWN) : message);
  }

  private static JsonNode error(String body) {
    try {
      return JSON.readTree(body).path("error");
    } catch (JsonProcessingException notJson) {
      return JSON.missingNode();
    }
  }
}
