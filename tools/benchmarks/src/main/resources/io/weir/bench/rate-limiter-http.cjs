// SPDX-License-Identifier: Apache-2.0
// An HTTP server that asks rate-limiter-flexible (its fixed window in Redis) for the client that the field
// X-Client names, and answers 200 or 429. Argument: the port of Redis.
const http = require('http');
const Redis = require('ioredis');
const { RateLimiterRedis } = require('rate-limiter-flexible');

const Client = Redis.default || Redis;
const redis = new Client({ port: Number(process.argv[2]), enableAutoPipelining: true });
const limiter = new RateLimiterRedis({
  storeClient: redis, points: 1e6, duration: 60, keyPrefix: 'rlf', useRedisPackage: false,
});

const server = http.createServer((request, response) => {
  limiter.consume(request.headers['x-client'] || 'nobody', 1).then(
    () => response.end('{}'),
    () => { response.statusCode = 429; response.end('{}'); },
  );
});
server.listen(0, '127.0.0.1', () => console.log(`ready ${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
