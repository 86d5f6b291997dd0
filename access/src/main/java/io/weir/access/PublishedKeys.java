// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKMatcher;
import com.nimbusds.jose.jwk.JWKSelector;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jose.util.DefaultResourceRetriever;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A local copy of an issuer's keys. Reading a key never waits for the issuer. Thread-safe.
 *
 * <p>The keys of a file are read again when its content changes. A thread fetches the keys of a URL
 * at the start, every five minutes, and on request, but at most every ten seconds. If the issuer
 * does not reply, its last keys stay valid for one hour.
 */
public final class PublishedKeys implements JWKSource<SecurityContext>, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PublishedKeys.class);

  private static final Duration EVERY = Duration.ofMinutes(5);

  /**
   * Minimum time between two fetches. Without this minimum, each token with an unknown key would
   * cause a request to the issuer.
   */
  private static final Duration LEAST_PAUSE = Duration.ofSeconds(10);

  private static final Duration KEPT_WITHOUT_ANSWER = Duration.ofHours(1);

  /** Timeout for opening the connection, and for each read of the response. */
  private static final Duration READ_TIMEOUT = Duration.ofSeconds(1);

  /** Timeout for a whole fetch, including the connection. */
  private static final Duration FETCH_TIMEOUT = Duration.ofSeconds(5);

  /** Maximum time that a caller waits for the newest keys. */
  private static final Duration MAX_WAIT = Duration.ofSeconds(3);

  /** Maximum size of an issuer's response in bytes. A key has about 1 KiB. */
  private static final int MAX_BYTES = 256 * 1_024;

  private final JwksPlace place;
  private final Runnable onRemoved;
  private final DefaultResourceRetriever issuer = new Retriever();
  private final @Nullable WatchedFile watched;
  private final @Nullable ScheduledExecutorService fetcher;
  private final Object lock = new Object();
  private volatile JWKSet keys = new JWKSet();
  private volatile boolean isCurrent;

  // guarded by lock
  private @Nullable CompletableFuture<@Nullable Void> fetching;
  private long begunNanos;
  private boolean hasBegun;

  // used only by the fetching thread
  private long fetchedNanos;
  private String failure = "";

  /**
   * A retriever that limits the time of a whole response, because the read timeout does not end a
   * response that arrives byte by byte.
   */
  private static final class Retriever extends DefaultResourceRetriever {
    Retriever() {
      super((int) READ_TIMEOUT.toMillis(), (int) READ_TIMEOUT.toMillis(), MAX_BYTES);
    }

    @Override
    protected HttpURLConnection openHTTPConnection(URL url) throws IOException {
      HttpURLConnection connection = super.openHTTPConnection(url);
      CompletableFuture.delayedExecutor(FETCH_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
          .execute(connection::disconnect);
      return connection;
    }
  }

  private PublishedKeys(JwksPlace place, Runnable onRemoved) throws IOException {
    this.place = place;
    this.onRemoved = onRemoved;
    if (!place.isUrl()) {
      Path file = place.file();
      this.keys = read(file);
      this.isCurrent = true;
      this.fetcher = null;
      this.watched = WatchedFile.start(List.of(file), () -> take(read(file)));
      return;
    }
    this.watched = null;
    this.fetcher =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "weir-issuer-keys");
              thread.setDaemon(true);
              return thread;
            });
    fetchedNanos = System.nanoTime();
    var unused =
        fetcher.scheduleWithFixedDelay(
            this::begin, EVERY.toMillis(), EVERY.toMillis(), TimeUnit.MILLISECONDS);
    begin();
  }

  /**
   * Opens the keys of a location.
   *
   * @param onRemoved action that runs after a key was revoked or replaced
   * @throws IOException if the location is a file that cannot be read or is not a JWK set. If an
   *     issuer does not reply, the method throws no exception, and a thread fetches the keys later
   */
  public static PublishedKeys open(JwksPlace place, Runnable onRemoved) throws IOException {
    return new PublishedKeys(place, onRemoved);
  }

  private static JWKSet read(Path file) throws IOException {
    return parse(Files.readString(file, StandardCharsets.UTF_8));
  }

  private static JWKSet parse(String text) throws IOException {
    try {
      return JWKSet.parse(text).toPublicJWKSet();
    } catch (ParseException | RuntimeException invalid) {
      throw new IOException("it is not a JWK set: " + invalid.getMessage(), invalid);
    }
  }

  @Override
  public List<JWK> get(JWKSelector selector, @Nullable SecurityContext context) {
    return selector.select(keys);
  }

  /** Returns whether one of the keys can be the signing key of a token with the given header. */
  public boolean has(JWSHeader header) {
    JWKMatcher matcher = JWKMatcher.forJWSHeader(header);
    return matcher != null && keys.getKeys().stream().anyMatch(matcher::matches);
  }

  /** Returns whether the last fetch of the issuer's keys succeeded. */
  public boolean isCurrent() {
    return isCurrent;
  }

  /**
   * Fetches the issuer's keys unless they were fetched in the last ten seconds. The future
   * completes when the fetch has ended, with or without a response.
   */
  public CompletableFuture<@Nullable Void> refresh() {
    synchronized (lock) {
      boolean mayBegin =
          fetcher != null
              && fetching == null
              && (!hasBegun || System.nanoTime() - begunNanos >= LEAST_PAUSE.toNanos());
      if (mayBegin) {
        begin();
      }
      return fetching == null
          ? CompletableFuture.completedFuture(null)
          : fetching.copy().completeOnTimeout(null, MAX_WAIT.toMillis(), TimeUnit.MILLISECONDS);
    }
  }

  private void begin() {
    synchronized (lock) {
      if (fetching == null && fetcher != null) {
        fetching = new CompletableFuture<>();
        begunNanos = System.nanoTime();
        hasBegun = true;
        fetcher.execute(this::fetch);
      }
    }
  }

  private void fetch() {
    try {
      JWKSet newest = parse(issuer.retrieveResource(place.url()).getContent());
      fetchedNanos = System.nanoTime();
      take(newest);
      if (!isCurrent) {
        LOG.info("issuer_keys_fetched setting={} keys={}", place.variable(), newest.size());
      }
      isCurrent = true;
      failure = "";
    } catch (IOException noAnswer) {
      isCurrent = false;
      logOnce(String.valueOf(noAnswer.getMessage()));
      if (System.nanoTime() - fetchedNanos > KEPT_WITHOUT_ANSWER.toNanos()) {
        take(new JWKSet());
      }
    } finally {
      CompletableFuture<@Nullable Void> done;
      synchronized (lock) {
        done = fetching;
        fetching = null;
      }
      if (done != null) {
        done.complete(null);
      }
    }
  }

  /** Logs a failure unless it equals the last logged failure. */
  private void logOnce(String now) {
    if (!now.equals(failure)) {
      failure = now;
      LOG.warn("issuer_keys_not_fetched setting={} detail=\"{}\"", place.variable(), now);
    }
  }

  private void take(JWKSet newest) {
    JWKSet before = keys;
    keys = newest;
    if (!newest.getKeys().containsAll(before.getKeys())) {
      onRemoved.run();
    }
  }

  @Override
  public void close() {
    if (watched != null) {
      watched.close();
    }
    if (fetcher != null) {
      fetcher.shutdownNow();
    }
  }
}
