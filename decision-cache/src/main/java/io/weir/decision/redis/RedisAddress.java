// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisURI;
import io.lettuce.core.StaticCredentialsProvider;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The address of a Redis server, of servers of a Redis Cluster, or of sentinels, with the
 * credentials. The text form is {@code redis://[user:password@]host[:port][/database][?options]} or
 * {@code rediss://}. An address denotes a cluster if it has several servers, separated by commas,
 * or the scheme {@code redis-cluster://} or {@code rediss-cluster://}. A cluster has only database
 * 0. The scheme {@code redis-sentinel://} or {@code rediss-sentinel://} denotes sentinels. The part
 * after {@code #} is the name under which the sentinels monitor the server. The text before the
 * last {@code @} is the user and the password. A password may therefore contain {@code /},
 * {@code @}, {@code #}, {@code ,} and {@code ?} unencoded. A {@code %} begins an encoded character.
 * Immutable.
 *
 * <p>{@link #toString} and the messages of this class never contain a part of the credentials. If
 * an address cannot be parsed, the messages contain no part of the address, because the position of
 * the password is unknown.
 */
final class RedisAddress {
  private static final int DEFAULT_PORT = 6379;
  private static final int DEFAULT_SENTINEL_PORT = 26_379;
  private static final String SENTINEL = "-sentinel";
  private static final int MAX_PORT = 65_535;
  private static final Pattern FORM =
      Pattern.compile("(rediss?)(-cluster|-sentinel)?://(?:(.*)@)?([^@]*)", Pattern.DOTALL);
  private static final String HOST = "\\[[0-9A-Fa-f:.%]+]|[A-Za-z0-9._-]+";
  private static final String HOST_AND_PORT = "(?:" + HOST + ")(?::[0-9]{1,5})?";
  private static final Pattern SERVER = Pattern.compile("(" + HOST + ")(?::([0-9]{1,5}))?");
  private static final Pattern SERVERS =
      Pattern.compile(
          "("
              + HOST_AND_PORT
              + "(?:,"
              + HOST_AND_PORT
              + ")*)(?:/([0-9]{0,5}))?(\\?[^#]*)?(?:#(.*))?",
          Pattern.DOTALL);

  /** A percent sign without two hexadecimal digits after it. */
  private static final Pattern BARE_PERCENT = Pattern.compile("%(?![0-9A-Fa-f]{2})");

  private final String scheme;
  private final boolean isCluster;
  private final @Nullable String watchedAs;
  private final @Nullable String credentials;
  private final List<Server> servers;
  private final String database;
  private final String options;

  /** A host and its port. */
  record Server(String host, int port) {
    @Override
    public String toString() {
      return host + ":" + port;
    }
  }

  private RedisAddress(Matcher form, Matcher rest) {
    this.scheme = form.group(1);
    this.credentials = form.group(3);
    boolean hasSentinels = SENTINEL.equals(form.group(2));
    this.servers = servers(rest.group(1), hasSentinels ? DEFAULT_SENTINEL_PORT : DEFAULT_PORT);
    this.watchedAs = hasSentinels ? rest.group(4) : null;
    this.isCluster = !hasSentinels && (form.group(2) != null || servers.size() > 1);
    this.database = rest.group(2) == null ? "" : rest.group(2);
    this.options = rest.group(3) == null ? "" : rest.group(3);
  }

  private static List<Server> servers(String text, int defaultPort) {
    List<Server> servers = new ArrayList<>();
    Matcher server = SERVER.matcher(text);
    while (server.find()) {
      int port = server.group(2) == null ? defaultPort : Integer.parseInt(server.group(2));
      if (port < 1 || port > MAX_PORT) {
        throw new IllegalArgumentException(
            "must have a port between 1 and " + MAX_PORT + ", but has " + port);
      }
      servers.add(new Server(server.group(1), port));
    }
    return List.copyOf(servers);
  }

  /**
   * Parses an address.
   *
   * @throws IllegalArgumentException if the address violates a rule; the message states the rule,
   *     and contains no part of the address
   */
  static RedisAddress of(String uri) {
    Matcher form = FORM.matcher(uri);
    if (!form.matches()) {
      throw new IllegalArgumentException(
          "must begin with redis://, redis-cluster:// or redis-sentinel://; for TLS, with rediss"
              + " instead of redis");
    }
    Matcher rest = SERVERS.matcher(form.group(4));
    if (!rest.matches()) {
      throw new IllegalArgumentException(
          "must be redis://[user:password@]host[:port][/database], with several host:port separated"
              + " by commas for a cluster, but the part after the last @ (or after // without an @)"
              + " is not a host with a port and a database");
    }
    String credentials = form.group(3);
    if (credentials != null && BARE_PERCENT.matcher(credentials).find()) {
      throw new IllegalArgumentException(
          "must encode each percent sign in its user and password as %25");
    }
    RedisAddress address = new RedisAddress(form, rest);
    if (address.isCluster && !address.database.isEmpty() && !address.database.equals("0")) {
      throw new IllegalArgumentException("must not have a database: a cluster has only database 0");
    }
    boolean hasSentinels = SENTINEL.equals(form.group(2));
    if (hasSentinels && (address.watchedAs == null || address.watchedAs.isBlank())) {
      throw new IllegalArgumentException(
          "must end with # and the name under which the sentinels monitor the server");
    }
    if (!hasSentinels && rest.group(4) != null) {
      throw new IllegalArgumentException(
          "must not have a #: only an address of sentinels has a name");
    }
    RedisURI unused = address.toLettuce();
    return address;
  }

  /** Returns whether the servers belong to a cluster. */
  boolean isCluster() {
    return isCluster;
  }

  /** Returns whether connections are encrypted. */
  boolean isTls() {
    return scheme.equals("rediss");
  }

  /** Returns the servers or sentinels, at least one. */
  List<Server> servers() {
    return servers;
  }

  /** Returns the address of the first server or of the sentinels, for the client library. */
  RedisURI toLettuce() {
    return toLettuce(RedisAccess.NONE);
  }

  /**
   * Returns the address of the first server or of the sentinels, for the client library. For each
   * connection, the library requests the server's address from the sentinels.
   */
  RedisURI toLettuce(RedisAccess access) {
    RedisURI uri = toLettuce(servers.get(0));
    if (watchedAs == null) {
      return uri;
    }
    uri.setSentinelMasterId(watchedAs);
    for (Server server : servers) {
      RedisURI sentinel = new RedisURI();
      sentinel.applySsl(uri);
      sentinel.setHost(server.host());
      sentinel.setPort(server.port());
      if (!access.sentinelPassword().isEmpty()) {
        String user = access.sentinelUser().isEmpty() ? null : access.sentinelUser();
        sentinel.setCredentialsProvider(
            new StaticCredentialsProvider(user, access.sentinelPassword().toCharArray()));
      }
      uri.getSentinels().add(sentinel);
    }
    return uri;
  }

  /**
   * Returns the address of a server with the credentials and options of this address, for the
   * client library.
   */
  RedisURI toLettuce(Server server) {
    // without credentials, because an exception of the library's parser contains its input
    RedisURI uri;
    try {
      uri = RedisURI.create(scheme + "://localhost/" + database + options);
    } catch (IllegalArgumentException refused) {
      throw new IllegalArgumentException("must have a valid database and valid options");
    }
    uri.setHost(server.host());
    uri.setPort(server.port());
    if (credentials != null && !credentials.isEmpty()) {
      int colon = credentials.indexOf(':');
      String user = colon <= 0 ? null : decoded(credentials.substring(0, colon));
      char[] password = decoded(credentials.substring(colon + 1)).toCharArray();
      uri.setCredentialsProvider(new StaticCredentialsProvider(user, password));
    }
    return uri;
  }

  /** Decodes percent-encoded characters, but no plus signs. */
  private static String decoded(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  /** Returns the address of a server without credentials and options. */
  String shown(Server server) {
    return scheme
        + "://"
        + (credentials == null ? "" : "***@")
        + server
        + (database.isEmpty() ? "" : "/" + database);
  }

  /** Returns the address without credentials and options. */
  @Override
  public String toString() {
    return scheme
        + (isCluster ? "-cluster" : "")
        + (watchedAs == null ? "" : SENTINEL)
        + "://"
        + (credentials == null ? "" : "***@")
        + servers.stream().map(Server::toString).collect(Collectors.joining(","))
        + (database.isEmpty() ? "" : "/" + database)
        + (watchedAs == null ? "" : "#" + watchedAs);
  }
}
